#include "core/model/decoder.h"

#include <algorithm>

#include <fmt/format.h>

#include "core/model/decoder_layer.h"
#include "core/model/norm.h"
#include "core/model/product.h"

namespace sluice {

namespace {

constexpr Bytes kLogitsBudget = 64_MiB;
constexpr int kLogitsRowsMin = 16;

Numerics numericsOf(const DecoderOptions& o, const Kernels& kernels) { return {&kernels, o.exact, o.planes}; }

ActivationShape shapeOf(const ModelConfig& config, const DecoderOptions& o, int threads) {
  const int logits = o.logits_max > 0 ? std::min(o.logits_max, o.rows_max) : logitsMaxFor(config.vocabulary, o.rows_max);
  return {o.rows_max, logits, o.context, threads};
}

KvLayerShape shapeOf(const ModelConfig& config, const LayerConfig& layer) {
  return {config.mla.cachedWidth(), layer.indexer == IndexerRole::Full ? config.indexer.width : 0};
}

}  // namespace

int logitsMaxFor(int vocabulary, int rows_max) {
  const std::uint64_t fit = kLogitsBudget.count() / (std::uint64_t(vocabulary) * sizeof(float));
  return int(std::min<std::uint64_t>(std::uint64_t(rows_max), std::max<std::uint64_t>(fit, kLogitsRowsMin)));
}

std::vector<KvLayerShape> kvShapes(const ModelConfig& config, bool with_mtp) {
  std::vector<KvLayerShape> out;
  for (const LayerConfig& layer : config.layers) out.push_back(shapeOf(config, layer));
  if (with_mtp) out.push_back(shapeOf(config, config.mtp));
  return out;
}

Bytes Decoder::bytesFor(const ModelConfig& config, const DecoderOptions& options, const Kernels& kernels, int threads) {
  return activationBytes(config, numericsOf(options, kernels), shapeOf(config, options, threads));
}

Result<std::unique_ptr<Decoder>> Decoder::create(const DecoderParts& parts, const DecoderOptions& options, Arena& arena) {
  CHECK(options.rows_max >= 1 && options.context >= 1 && (options.planes == 1 || options.planes == 2));
  const Bytes bytes = bytesFor(*parts.config, options, *parts.kernels, parts.team->size());
  Carver memory(TRY(arena.take(bytes, 64, "activations")));
  return std::unique_ptr<Decoder>(new Decoder(parts, options, memory));
}

Decoder::Decoder(const DecoderParts& parts, const DecoderOptions& options, Carver& memory)
    : parts_(parts),
      options_(options),
      numerics_(numericsOf(options, *parts.kernels)),
      rope_(parts.config->mla.rope_theta, parts.config->mla.rope),
      scratch_(*parts.config, numerics_, shapeOf(*parts.config, options, parts.team->size()), memory) {
  CHECK(parts.weights->layers.size() == parts.config->layers.size());
  facts_ = {parts.config->vocabulary, options.context, options.rows_max, scratch_.logits.count};
  growths_.reserve(std::size_t(options.rows_max));
  logits_rows_.reserve(std::size_t(options.rows_max));
}

void Decoder::rollback(SequenceId sequence, int length) {
  CHECK(length <= parts_.kv->length(sequence));
  parts_.kv->setLength(sequence, length);
}

Result<Done> Decoder::checkRows(std::span<const ForwardRow> rows) {
  if (rows.empty() || rows.size() > std::size_t(facts_.rows_max))
    return Error{Errc::BadRequest, fmt::format("a forward of {} rows was asked for; 1 to {} fit", rows.size(), facts_.rows_max)};
  growths_.clear();
  logits_rows_.clear();
  for (std::size_t r = 0; r < rows.size(); ++r) {
    const ForwardRow& row = rows[r];
    if (row.token.value() >= std::uint32_t(facts_.vocabulary))
      return Error{Errc::BadRequest, fmt::format("token {} at position {} is outside the vocabulary of {}", row.token.value(), row.position, facts_.vocabulary)};
    auto it = std::find_if(growths_.begin(), growths_.end(), [&](const Growth& g) { return g.sequence == row.sequence; });
    if (it == growths_.end()) {
      const int length = parts_.kv->length(row.sequence);
      it = growths_.insert(growths_.end(), {row.sequence, length, length});
    }
    CHECK(row.position == it->after);  // the caller's promise: ascending, without gaps, from the committed length
    ++it->after;
    if (row.wants_logits) logits_rows_.push_back(int(r));
  }
  if (logits_rows_.size() > std::size_t(facts_.logits_max))
    return Error{Errc::BadRequest, fmt::format("{} rows of one forward want logits; {} may", logits_rows_.size(), facts_.logits_max)};
  return Done{};
}

Result<Done> Decoder::reserveRows() {
  for (const Growth& growth : growths_) {
    if (growth.after > facts_.context)
      return Error{Errc::OutOfBudget, fmt::format("the context is full: {} tokens were asked for and a sequence holds {}; start with a larger --context",
                                                  growth.after, facts_.context)};
    TRY(parts_.kv->reserve(growth.sequence, growth.after));
  }
  return Done{};
}

Result<ForwardOutput> Decoder::forward(std::span<const ForwardRow> rows, ForwardWatch* watch) {
  TRY(checkRows(rows));
  const Result<Done> reserved = reserveRows();
  Result<ForwardOutput> out = reserved.ok() ? compute(rows, watch) : Result<ForwardOutput>(reserved.error());
  // Committed all together, or given back all together.
  for (const Growth& growth : growths_) parts_.kv->setLength(growth.sequence, out.ok() ? growth.after : growth.before);
  return out;
}

Result<ForwardOutput> Decoder::compute(std::span<const ForwardRow> rows, ForwardWatch* watch) {
  const ModelConfig& config = *parts_.config;
  const LayerContext ctx{&config, numerics_, parts_.team, parts_.kv, parts_.experts, &scratch_, tap_, watch};
  TRY(embed(rows));
  const double total = double(config.layers.size()) * double(rows.size());
  for (std::size_t layer = 0; layer < config.layers.size(); ++layer) {
    if (watch != nullptr) watch->progress(double(layer) * double(rows.size()), total);
    TRY(runLayer(ctx, parts_.weights->layers[layer], config.layers[layer], LayerId(std::uint32_t(layer)), rows));
  }
  if (watch != nullptr) watch->progress(total, total);
  return output(rows);
}

Result<Done> Decoder::embed(std::span<const ForwardRow> rows) {
  scratch_.forgetFaults(parts_.team->size());
  parts_.team->run([&](const Member& member) {
    const Slice part = member.slice(int(rows.size()));
    for (int r = part.begin; r < part.end; ++r) {
      const ForwardRow& row = rows[std::size_t(r)];
      parts_.kernels->dequantise_row({&parts_.weights->embedding, int(row.token.value()), scratch_.hidden[r]});
      if (!allFinite(scratch_.hidden[r], parts_.config->hidden)) scratch_.members[member.index()].finite = false;
      rope_.fill(row.position, scratch_.cosines[r], scratch_.sines[r]);
    }
  });
  if (scratch_.sawFault(parts_.team->size()))
    return Error{Errc::Numeric, "the embedding of a token of this prompt holds NaN or infinity: the weights are damaged; `sluice verify` finds damaged files"};
  return Done{};
}

// Logits of logits_rows_[first, first + rows.size()).
void Decoder::headTile(std::span<const int> rows, int first) {
  const WeightMatrix& head = parts_.weights->head;
  const bool codes = numerics_.usesCodes(head);
  const int hidden = parts_.config->hidden;
  const int count = int(rows.size());
  parts_.team->run([&](const Member& member) {
    const Slice part = member.slice(count);
    for (int i = part.begin; i < part.end; ++i) {
      float* const normed = scratch_.attention_in.values[i];
      rmsNorm(numerics_, scratch_.hidden[rows[std::size_t(i)]], parts_.weights->final_norm, parts_.config->rms_eps, normed);
      if (codes) quantise(numerics_, normed, scratch_.attention_in.codes[i], hidden);
    }
    member.barrier();
    product(numerics_, member, head, scratch_.attention_in.input(0, count), scratch_.logits.rows + first);
    member.barrier();
    for (int i = part.begin; i < part.end; ++i)
      if (!allFinite(scratch_.logits[first + i], facts_.vocabulary)) scratch_.members[member.index()].finite = false;
  });
}

Result<ForwardOutput> Decoder::output(std::span<const ForwardRow> rows) {
  const int hidden = parts_.config->hidden;
  scratch_.forgetFaults(parts_.team->size());
  const int wanted = int(logits_rows_.size());
  for (int first = 0; first < wanted; first += scratch_.tile_rows) {
    const int count = std::min(scratch_.tile_rows, wanted - first);
    headTile({logits_rows_.data() + first, std::size_t(count)}, first);
  }
  if (scratch_.sawFault(parts_.team->size()))
    return Error{Errc::Numeric, "the head (final norm and lm_head) made a logit that is NaN or infinite: its weights are damaged or of a format that was misread; "
                                "`sluice verify` finds damaged files"};
  ForwardOutput out;
  if (wanted > 0) {
    const std::size_t size = std::size_t(wanted) * std::size_t(facts_.vocabulary);
    out.logits = {{scratch_.logits[0], size}, wanted, facts_.vocabulary, facts_.vocabulary};
  }
  // The stream is of no more use: rows that were asked for are normed to its front, each at or below its own place.
  int kept = 0;
  for (std::size_t r = 0; r < rows.size(); ++r) {
    if (!rows[r].wants_hidden) continue;
    rmsNorm(numerics_, scratch_.hidden[int(r)], parts_.weights->final_norm, parts_.config->rms_eps, scratch_.hidden[kept++]);
  }
  if (kept > 0) {
    const int stride = kept > 1 ? int(scratch_.hidden[1] - scratch_.hidden[0]) : hidden;
    out.hidden = {{scratch_.hidden[0], std::size_t(stride) * std::size_t(kept - 1) + std::size_t(hidden)}, kept, hidden, stride};
  }
  return out;
}

}  // namespace sluice
