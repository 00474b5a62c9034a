#include "core/model/sparse_index.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <functional>

#include "core/model/norm.h"
#include "core/model/product.h"

namespace sluice {

namespace {

// The indexer's LayerNorm has an epsilon of its own, whatever the config's (spec/model-families.md 1.7).
constexpr float kIndexNormEps = 1e-6f;

/// Larger floats have larger keys, -0 equals 0; among equal scores the lower position has the larger key.
std::uint64_t keyOf(float score, int position) {
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(score + 0.0f);
  const std::uint32_t ordered = (bits & 0x80000000u) != 0 ? ~bits : bits | 0x80000000u;
  return std::uint64_t(ordered) << 32 | std::uint32_t(~std::uint32_t(position));
}

bool rowSelects(const LayerContext& ctx, const ForwardRow& row) { return row.position + 1 > ctx.config->indexer.top_k; }

void scoreRow(const LayerContext& ctx, LayerId layer, const ForwardRow& row, int tile_row, int begin, int end, float* out) {
  if (begin >= end) return;
  const Activations& s = *ctx.scratch;
  ctx.numerics.kernels->index_scores({s.index_query[tile_row], s.index_weights[tile_row], ctx.kv->rows(row.sequence, layer, KvPart::Index),
                                      ctx.config->indexer.heads, begin, end, out});
}

void selectRow(const LayerContext& ctx, const Tile& tile, int tile_row, const float* scores, const Member& member) {
  const Activations& s = *ctx.scratch;
  const int k = ctx.config->indexer.top_k;
  const std::size_t row = std::size_t(tile.begin + tile_row);
  selectTop({scores, std::size_t(tile.rows[std::size_t(tile_row)].position) + 1}, k, s.members[member.index()].index_keys,
            s.index_sets + row * std::size_t(k));
  s.index_counts[row] = k;
}

}  // namespace

void selectTop(std::span<const float> scores, int k, std::uint64_t* keys, std::int32_t* positions) {
  const int n = int(scores.size());
  DCHECK(0 < k && k < n);
  for (int i = 0; i < n; ++i) keys[i] = keyOf(scores[std::size_t(i)], i);
  std::nth_element(keys, keys + (k - 1), keys + n, std::greater<>());
  const std::uint64_t least = keys[k - 1];  // keys differ, so exactly k are at or above it
  int kept = 0;
  for (int i = 0; i < n && kept < k; ++i)
    if (keyOf(scores[std::size_t(i)], i) >= least) positions[kept++] = i;
}

bool selectionMatters(const LayerContext& ctx, const Tile& tile) {
  return std::any_of(tile.rows.begin(), tile.rows.end(), [&](const ForwardRow& row) { return rowSelects(ctx, row); });
}

void storeIndexKeys(const LayerContext& ctx, const Member& member, const IndexerWeights& w, LayerId layer, const Tile& tile) {
  const Activations& s = *ctx.scratch;
  const Kernels& kernels = *ctx.numerics.kernels;
  const int width = ctx.config->indexer.width;
  const Slice part = member.slice(tile.count());
  for (int r = part.begin; r < part.end; ++r) {
    const ForwardRow& row = tile.rows[std::size_t(r)];
    float* const key = s.index_key[r];
    layerNorm(ctx.numerics, key, w.k_norm_weight, w.k_norm_bias, kIndexNormEps, key);
    kernels.rope_pairs({key, s.cosines[tile.begin + r], s.sines[tile.begin + r], 1, width, ctx.config->mla.rope / 2});
    std::byte* const out = ctx.kv->row(row.sequence, layer, KvPart::Index, row.position);
    kernels.store_row({key, out, width, ctx.kv->rows(row.sequence, layer, KvPart::Index).format});
  }
}

void selectPositions(const LayerContext& ctx, const Member& member, LayerId layer, const Tile& tile) {
  const Activations& s = *ctx.scratch;
  const IndexerConfig& c = ctx.config->indexer;
  const float scale = float(1.0 / std::sqrt(double(c.heads) * c.width));
  const Slice part = member.slice(tile.count());
  for (int r = part.begin; r < part.end; ++r) {
    ctx.numerics.kernels->rope_pairs({s.index_query[r], s.cosines[tile.begin + r], s.sines[tile.begin + r], c.heads, c.width, ctx.config->mla.rope / 2});
    for (int head = 0; head < c.heads; ++head) s.index_weights[r][head] *= scale;
    if (!rowSelects(ctx, tile.rows[std::size_t(r)])) s.index_counts[tile.begin + r] = 0;
  }
  member.barrier();
  // As many rows at a time as there are members, one each; the last few are scored by all members together, each a run of positions.
  const int whole = tile.count() / member.count() * member.count();
  for (int r = member.index(); r < whole; r += member.count()) {
    const ForwardRow& row = tile.rows[std::size_t(r)];
    if (!rowSelects(ctx, row)) continue;
    float* const scores = s.members[member.index()].index_scores;
    scoreRow(ctx, layer, row, r, 0, row.position + 1, scores);
    selectRow(ctx, tile, r, scores, member);
  }
  member.barrier();
  for (int r = whole; r < tile.count(); ++r) {
    const ForwardRow& row = tile.rows[std::size_t(r)];
    if (!rowSelects(ctx, row)) continue;
    const Slice run = member.slice(row.position + 1);
    scoreRow(ctx, layer, row, r, run.begin, run.end, s.members[r - whole].index_scores + run.begin);
  }
  member.barrier();
  const int own = whole + member.index();
  if (own < tile.count() && rowSelects(ctx, tile.rows[std::size_t(own)])) selectRow(ctx, tile, own, s.members[member.index()].index_scores, member);
  member.barrier();
}

void selectEverything(const LayerContext& ctx, const Member& member, const Tile& tile) {
  const Slice part = member.slice(tile.count());
  for (int r = part.begin; r < part.end; ++r) ctx.scratch->index_counts[tile.begin + r] = 0;
}

void reportIndex(const LayerContext& ctx, LayerId layer, const Tile& tile) {
  const Activations& s = *ctx.scratch;
  const std::size_t k = std::size_t(ctx.config->indexer.top_k);
  for (int r = 0; r < tile.count(); ++r) {
    const int row = tile.begin + r;
    std::int32_t* const set = s.index_sets + std::size_t(row) * k;
    int count = s.index_counts[row];
    if (count == 0) {  // the set lies unused: spell it out for the tap
      count = tile.rows[std::size_t(r)].position + 1;
      for (int position = 0; position < count; ++position) set[position] = position;
    }
    ctx.tap->index(layer, row, {set, std::size_t(count)});
  }
}

}  // namespace sluice
