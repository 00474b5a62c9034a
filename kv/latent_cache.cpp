#include "kv/latent_cache.h"

#include <bit>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "core/base/check.h"

namespace sluice {

namespace {

// A part of a slab begins on a cache line, so that no two layers share one.
constexpr std::uint64_t kPartAlign = 64;

std::uint64_t partBytes(int width, const LatentCacheOptions& o) {
  return roundUp(std::uint64_t(width) * bytesOf(o.format) * std::uint64_t(o.slab_rows), kPartAlign);
}

std::uint64_t slabBytes(std::span<const KvLayerShape> layers, const LatentCacheOptions& o) {
  std::uint64_t bytes = 0;
  for (const KvLayerShape& layer : layers) bytes += partBytes(layer.latent_width, o) + partBytes(layer.index_width, o);
  return bytes;
}

int slabsFor(int tokens, int slab_rows) { return (tokens + slab_rows - 1) / slab_rows; }

}  // namespace

Bytes LatentCache::bytesFor(std::span<const KvLayerShape> layers, const LatentCacheOptions& o) {
  return Bytes(slabBytes(layers, o) * std::uint64_t(slabsFor(o.context, o.slab_rows)) * std::uint64_t(o.sequences_max));
}

Bytes LatentCache::bytesPerToken(std::span<const KvLayerShape> layers, RowFormat format) {
  std::uint64_t values = 0;
  for (const KvLayerShape& layer : layers) values += std::uint64_t(layer.latent_width) + std::uint64_t(layer.index_width);
  return Bytes(values * bytesOf(format));
}

Result<std::unique_ptr<LatentCache>> LatentCache::create(std::vector<KvLayerShape> layers, const LatentCacheOptions& options, Arena& arena) {
  CHECK(options.context >= 1 && options.sequences_max >= 1);
  CHECK(options.slab_rows >= 1 && std::has_single_bit(unsigned(options.slab_rows)));
  const std::span<std::byte> memory = TRY(arena.take(bytesFor(layers, options), kPartAlign, "kv"));
  return std::unique_ptr<LatentCache>(new LatentCache(std::move(layers), options, memory));
}

LatentCache::LatentCache(std::vector<KvLayerShape> layers, const LatentCacheOptions& options, std::span<std::byte> memory)
    : options_(options), memory_(memory), slab_bytes_(slabBytes(layers, options)), slabs_per_sequence_(slabsFor(options.context, options.slab_rows)) {
  std::uint64_t offset = 0;
  for (const KvLayerShape& layer : layers) {
    for (const int width : {layer.latent_width, layer.index_width}) {
      parts_.push_back({offset, width});
      offset += partBytes(width, options_);
    }
  }
  CHECK(offset == slab_bytes_);
  const int slabs = slabs_per_sequence_ * options_.sequences_max;
  for (int slab = slabs; slab-- > 0;) free_.push_back(std::uint32_t(slab));
  sequences_.resize(std::size_t(options_.sequences_max));
  for (Sequence& s : sequences_) {
    s.slabs.reserve(std::size_t(slabs_per_sequence_));
    s.pointers.resize(parts_.size() * std::size_t(slabs_per_sequence_));
  }
}

const LatentCache::Sequence& LatentCache::at(SequenceId sequence) const {
  CHECK(sequence.value() < sequences_.size());
  const Sequence& s = sequences_[sequence.value()];
  CHECK(s.open);
  return s;
}

LatentCache::Sequence& LatentCache::at(SequenceId sequence) { return const_cast<Sequence&>(std::as_const(*this).at(sequence)); }

Result<SequenceId> LatentCache::open() {
  for (std::size_t i = 0; i < sequences_.size(); ++i) {
    Sequence& s = sequences_[i];
    if (s.open) continue;
    s.open = true;
    s.length = 0;
    return SequenceId(std::uint32_t(i));
  }
  return Error{Errc::OutOfBudget, fmt::format("all {} sequences of the KV cache are open: close one, or start with more sessions", sequences_.size())};
}

void LatentCache::close(SequenceId sequence) {
  Sequence& s = at(sequence);
  shrinkTo(s, 0);
  s.length = 0;
  s.open = false;
}

int LatentCache::length(SequenceId sequence) const { return at(sequence).length; }

Result<Done> LatentCache::reserve(SequenceId sequence, int new_length) {
  Sequence& s = at(sequence);
  if (new_length > options_.context) {
    return Error{Errc::OutOfBudget, fmt::format("the context is full: {} tokens were asked for and a sequence holds {}; start with a larger --context",
                                                new_length, options_.context)};
  }
  const int wanted = slabsFor(new_length, options_.slab_rows);
  while (int(s.slabs.size()) < wanted) {
    CHECK(!free_.empty());  // every sequence's whole context was bought at load
    const std::uint32_t slab = free_.back();
    free_.pop_back();
    const std::byte* base = memory_.data() + slab * slab_bytes_;
    for (std::size_t part = 0; part < parts_.size(); ++part)
      s.pointers[part * std::size_t(slabs_per_sequence_) + s.slabs.size()] = base + parts_[part].offset;
    s.slabs.push_back(slab);
  }
  return Done{};
}

std::size_t LatentCache::partIndex(LayerId layer, KvPart part) const {
  const std::size_t index = std::size_t(layer.value()) * 2 + (part == KvPart::Index ? 1 : 0);
  CHECK(index < parts_.size() && parts_[index].width > 0);
  return index;
}

std::byte* LatentCache::row(SequenceId sequence, LayerId layer, KvPart part, int position) {
  const Sequence& s = at(sequence);
  const Part& p = parts_[partIndex(layer, part)];
  const int slab = position / options_.slab_rows;
  CHECK(position >= 0 && slab < int(s.slabs.size()));
  const std::uint64_t row_bytes = std::uint64_t(p.width) * bytesOf(options_.format);
  return memory_.data() + s.slabs[std::size_t(slab)] * slab_bytes_ + p.offset + std::uint64_t(position % options_.slab_rows) * row_bytes;
}

CachedRows LatentCache::rows(SequenceId sequence, LayerId layer, KvPart part) const {
  const Sequence& s = at(sequence);
  const std::size_t index = partIndex(layer, part);
  return {s.pointers.data() + index * std::size_t(slabs_per_sequence_), options_.slab_rows, parts_[index].width, options_.format};
}

void LatentCache::setLength(SequenceId sequence, int length) {
  Sequence& s = at(sequence);
  CHECK(length >= 0 && slabsFor(length, options_.slab_rows) <= int(s.slabs.size()));
  s.length = length;
  shrinkTo(s, length);
}

void LatentCache::shrinkTo(Sequence& s, int length) {
  const std::size_t kept = std::size_t(slabsFor(length, options_.slab_rows));
  while (s.slabs.size() > kept) {
    free_.push_back(s.slabs.back());
    s.slabs.pop_back();
  }
}

}  // namespace sluice
