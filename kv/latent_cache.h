#pragma once
// Cached rows of every sequence: the latents (with their rotated keys) of all layers, and the index keys of the layers that own an
// indexer. Memory is bought once, as slabs of `slab_rows` tokens; a slab holds those tokens' rows of every layer, layer after layer.

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "core/base/arena.h"
#include "core/base/result.h"
#include "core/ports/kv_store.h"

namespace sluice {

struct LatentCacheOptions {
  RowFormat format = RowFormat::Bf16;
  int context = 0;        // tokens a sequence may hold, >= 1
  int sequences_max = 1;  // open at once
  int slab_rows = 256;    // a power of two: kernels find a row by a shift and a mask
};

class LatentCache final : public KvStore {
 public:
  /// What create() will take from its arena: rows of `context` tokens, rounded up to whole slabs, for every sequence.
  static Bytes bytesFor(std::span<const KvLayerShape> layers, const LatentCacheOptions& options);
  /// What one token costs, all layers together.
  static Bytes bytesPerToken(std::span<const KvLayerShape> layers, RowFormat format);
  /// Takes bytesFor() under the name "kv". The arena must outlive the cache.
  /// errors  OutOfBudget
  static Result<std::unique_ptr<LatentCache>> create(std::vector<KvLayerShape> layers, const LatentCacheOptions& options, Arena& arena);

  Result<SequenceId> open() override;
  void close(SequenceId sequence) override;
  int length(SequenceId sequence) const override;
  Result<Done> reserve(SequenceId sequence, int new_length) override;
  std::byte* row(SequenceId sequence, LayerId layer, KvPart part, int position) override;
  CachedRows rows(SequenceId sequence, LayerId layer, KvPart part) const override;
  void setLength(SequenceId sequence, int length) override;

  /// Slabs that no sequence holds.
  int slabsFree() const { return int(free_.size()); }

 private:
  struct Part {
    std::uint64_t offset = 0;  // inside a slab
    int width = 0;
  };
  struct Sequence {
    bool open = false;
    int length = 0;
    std::vector<std::uint32_t> slabs;        // in order of position
    std::vector<const std::byte*> pointers;  // [parts][slabs of a whole context]: what kernels walk
  };
  LatentCache(std::vector<KvLayerShape> layers, const LatentCacheOptions& options, std::span<std::byte> memory);
  const Sequence& at(SequenceId sequence) const;
  Sequence& at(SequenceId sequence);
  std::size_t partIndex(LayerId layer, KvPart part) const;
  void shrinkTo(Sequence& s, int length);

  LatentCacheOptions options_;
  std::vector<Part> parts_;  // latent, index of layer 0; of layer 1; ...
  std::span<std::byte> memory_;
  std::uint64_t slab_bytes_ = 0;
  int slabs_per_sequence_ = 0;
  std::vector<std::uint32_t> free_;  // the next to be given is the last
  std::vector<Sequence> sequences_;
};

}  // namespace sluice
