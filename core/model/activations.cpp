#include "core/model/activations.h"

#include <algorithm>
#include <new>

namespace sluice {

namespace {

// Outputs of experts that wait for their turn to be summed: at least a forward's rows (one expert may be wanted by all of them), and for short
// forwards every pair of the layer, so that a decode step is one wave.
constexpr int kPairsFew = 512;

constexpr int kFloatsOfALine = 16;

FloatRows floatRows(Carver& memory, int count, int cols, int stride) {
  FloatRows out{memory.take<float*>(std::uint64_t(count)), cols, count};
  float* const data = memory.take<float>(std::uint64_t(count) * std::uint64_t(stride));
  if (memory.counting()) return out;
  for (int r = 0; r < count; ++r) out.rows[r] = data + std::size_t(r) * std::size_t(stride);
  return out;
}

FloatRows floatRows(Carver& memory, int count, int cols) { return floatRows(memory, count, cols, int(roundUp(std::uint64_t(cols), kFloatsOfALine))); }

ActivationRows activationRows(Carver& memory, const Numerics& n, FloatRows values) {
  ActivationRows out{values, memory.take<std::byte*>(std::uint64_t(values.count))};
  const std::size_t bytes = n.exact ? 0 : n.kernels->activation_bytes(values.cols, n.planes);
  std::byte* const data = memory.take<std::byte>(bytes * std::uint64_t(values.count));
  if (memory.counting()) return out;
  for (int r = 0; r < values.count; ++r) out.codes[r] = data + std::size_t(r) * bytes;
  return out;
}

ActivationRows activationRows(Carver& memory, const Numerics& n, int count, int cols) { return activationRows(memory, n, floatRows(memory, count, cols)); }

bool someLayerIsDense(const ModelConfig& c) {
  return std::any_of(c.layers.begin(), c.layers.end(), [](const LayerConfig& l) { return l.indexer == IndexerRole::None; });
}

}  // namespace

Activations::Activations(const ModelConfig& c, const Numerics& n, const ActivationShape& shape, Carver& memory) {
  const int rows = shape.rows_max;
  const std::uint64_t all = std::uint64_t(rows);
  const int k = c.router.top_k;
  hidden = floatRows(memory, rows, c.hidden);
  ffn_in = activationRows(memory, n, rows, c.hidden);
  cosines = floatRows(memory, rows, c.mla.rope / 2);
  sines = floatRows(memory, rows, c.mla.rope / 2);
  moe_sum = floatRows(memory, rows, c.hidden);
  index_sets = memory.take<std::int32_t>(all * std::uint64_t(c.indexer.top_k));
  index_counts = memory.take<int>(all);
  router_scores = floatRows(memory, rows, c.router.experts);
  routed_ids = memory.take<ExpertId>(all * std::uint64_t(k));
  routed_weights = memory.take<float>(all * std::uint64_t(k));
  routed_margins = memory.take<float>(all);
  routed_places = memory.take<int>(all * std::uint64_t(k));
  pair_rows = memory.take<int>(all * std::uint64_t(k));
  expert_begins = memory.take<int>(std::uint64_t(c.router.experts) + 1);
  experts_used = memory.take<ExpertId>(std::uint64_t(c.router.experts));
  pairs_max = int(std::max<std::int64_t>(rows, std::min<std::int64_t>(std::int64_t(rows) * k, kPairsFew)));
  expert_out = floatRows(memory, pairs_max, c.hidden);

  const MlaConfig& a = c.mla;
  tile_rows = std::min(rows, kTileRows);
  attention_in = activationRows(memory, n, tile_rows, c.hidden);
  query_latent = activationRows(memory, n, tile_rows, a.q_lora_rank);
  kv_latent = floatRows(memory, tile_rows, a.cachedWidth());
  query = floatRows(memory, tile_rows, a.heads * (a.nope + a.rope));
  query_absorbed = floatRows(memory, tile_rows, a.heads * a.cachedWidth());
  latent_out = activationRows(memory, n, floatRows(memory, tile_rows * a.heads, a.kv_lora_rank, a.kv_lora_rank));
  attention_values = activationRows(memory, n, tile_rows, a.heads * a.v);
  index_key = floatRows(memory, tile_rows, c.indexer.width);
  index_query = floatRows(memory, tile_rows, c.indexer.heads * c.indexer.width);
  index_weights = floatRows(memory, tile_rows, c.indexer.heads);
  const int inter = std::max({c.dense_inter, c.expert_inter, c.shared_inter});
  ffn_gate = activationRows(memory, n, tile_rows, inter);
  ffn_up = floatRows(memory, tile_rows, inter);
  block_out = floatRows(memory, tile_rows, c.hidden);

  logits = floatRows(memory, shape.logits_max, c.vocabulary, c.vocabulary);
  const bool selects = c.indexer.heads > 0;
  scores_stride = selects && !someLayerIsDense(c) ? std::min(shape.context, c.indexer.top_k) : shape.context;
  members = memory.take<MemberScratch>(std::uint64_t(shape.threads));
  for (int member = 0; member < shape.threads; ++member) {
    MemberScratch m;
    m.attention_scores = memory.take<float>(std::uint64_t(a.heads) * std::uint64_t(scores_stride));
    m.index_scores = memory.take<float>(selects ? std::uint64_t(shape.context) : 0);
    m.index_keys = memory.take<std::uint64_t>(selects ? std::uint64_t(shape.context) : 0);
    m.inputs = memory.take<const float*>(std::uint64_t(tile_rows));
    m.codes = memory.take<const std::byte*>(std::uint64_t(tile_rows));
    m.outputs = memory.take<float*>(std::uint64_t(tile_rows));
    if (!memory.counting()) members[member] = m;
  }
}

Bytes activationBytes(const ModelConfig& config, const Numerics& numerics, const ActivationShape& shape) {
  Carver counter;
  const Activations counted(config, numerics, shape, counter);
  return counter.used();
}

}  // namespace sluice
