#include "core/model/attention_mla.h"

#include <algorithm>
#include <cmath>

#include "core/model/norm.h"
#include "core/model/product.h"
#include "core/model/sparse_index.h"

namespace sluice {

namespace {

// Residual additions and quantisation are cut into runs of this many columns when there are more members than rows.
constexpr int kColumnBlock = 512;

/// One tile through one layer's attention; every member runs the same steps and meets the others at barriers.
struct MlaTile {
  const LayerContext& ctx;
  const MlaConfig& mla;
  const Activations& s;
  const Numerics& n;
  const LayerWeights& layer_weights;
  const MlaWeights& w;
  IndexerRole indexer;
  LayerId layer;
  const Tile& tile;
  bool full;     // owns an indexer
  bool selects;  // and some row sees more than its top k
  float scale;

  void normInput(const Member& member) const {
    const bool codes = n.usesCodes(w.q_a) || n.usesCodes(w.kv_a);
    const Slice part = member.slice(tile.count());
    for (int r = part.begin; r < part.end; ++r) {
      rmsNorm(n, s.hidden[tile.begin + r], layer_weights.input_norm, ctx.config->rms_eps, s.attention_in.values[r]);
      if (codes) quantise(n, s.attention_in.values[r], s.attention_in.codes[r], ctx.config->hidden);
    }
  }

  void projectInput(const Member& member) const {
    const ProductInput x = s.attention_in.input(0, tile.count());
    product(n, member, w.q_a, x, s.query_latent.values.rows);
    product(n, member, w.kv_a, x, s.kv_latent.rows);
    if (full) product(n.inFloat(), member, w.indexer->wk, x, s.index_key.rows);
    if (selects) product(n.inFloat(), member, w.indexer->weights_proj, x, s.index_weights.rows);
  }

  void storeLatents(const Member& member) const {
    const Kernels& kernels = *n.kernels;
    const bool codes = n.usesCodes(w.q_b);
    const Slice part = member.slice(tile.count());
    for (int r = part.begin; r < part.end; ++r) {
      const ForwardRow& row = tile.rows[std::size_t(r)];
      float* const query = s.query_latent.values[r];
      rmsNorm(n, query, w.q_a_norm, ctx.config->rms_eps, query);
      if (codes) quantise(n, query, s.query_latent.codes[r], mla.q_lora_rank);
      float* const latent = s.kv_latent[r];
      rmsNorm(n, latent, w.kv_a_norm, ctx.config->rms_eps, latent);
      kernels.rope_pairs({latent + mla.kv_lora_rank, s.cosines[tile.begin + r], s.sines[tile.begin + r], 1, mla.rope, mla.rope / 2});
      std::byte* const out = ctx.kv->row(row.sequence, layer, KvPart::Latent, row.position);
      kernels.store_row({latent, out, mla.cachedWidth(), ctx.kv->rows(row.sequence, layer, KvPart::Latent).format});
    }
    if (full) storeIndexKeys(ctx, member, *w.indexer, layer, tile);
  }

  void projectQueries(const Member& member) const {
    const ProductInput x = s.query_latent.input(0, tile.count());
    product(n, member, w.q_b, x, s.query.rows);
    if (selects) product(n.inFloat(), member, w.indexer->wq_b, x, s.index_query.rows);
  }

  /// Calls body(head, row_begin, row_end) for this member's part of all (head, row) pairs.
  template <class Body>
  void eachHeadRun(const Member& member, Body&& body) const {
    const int rows = tile.count();
    const Slice part = member.slice(mla.heads * rows);
    for (int at = part.begin; at < part.end;) {
      const int head = at / rows, begin = at % rows, end = std::min(rows, begin + part.end - at);
      body(head, begin, end);
      at += end - begin;
    }
  }

  // qlat = W_K^T q_nope, then the rotated query behind it: one key-wide vector a head.
  void absorbQueries(const Member& member) const {
    const MemberScratch& own = s.members[member.index()];
    const int width = mla.nope + mla.rope, absorbed = mla.cachedWidth();
    eachHeadRun(member, [&](int head, int begin, int end) {
      for (int r = begin; r < end; ++r) {
        const float* const query = s.query[r] + head * width;
        float* const out = s.query_absorbed[r] + head * absorbed;
        std::copy_n(query + mla.nope, mla.rope, out + mla.kv_lora_rank);
        n.kernels->rope_pairs({out + mla.kv_lora_rank, s.cosines[tile.begin + r], s.sines[tile.begin + r], 1, mla.rope, mla.rope / 2});
        own.inputs[r - begin] = query;
        own.outputs[r - begin] = out;
      }
      n.kernels->transposed_product({&w.w_k, own.inputs, own.outputs, end - begin, head * mla.nope, (head + 1) * mla.nope});
    });
  }

  void attend(const Member& member) const {
    const MemberScratch& own = s.members[member.index()];
    const Slice part = member.slice(tile.count() * mla.heads);
    for (int at = part.begin; at < part.end;) {
      const int r = at / mla.heads, head = at % mla.heads, head_end = std::min(mla.heads, head + part.end - at);
      const ForwardRow& row = tile.rows[std::size_t(r)];
      const std::size_t in_forward = std::size_t(tile.begin + r);
      const int chosen = indexer == IndexerRole::None ? 0 : s.index_counts[in_forward];
      const std::int32_t* const positions = chosen == 0 ? nullptr : s.index_sets + in_forward * std::size_t(ctx.config->indexer.top_k);
      const int count = chosen == 0 ? row.position + 1 : chosen;
      DCHECK(count <= s.scores_stride);
      n.kernels->latent_attention({s.query_absorbed[r], ctx.kv->rows(row.sequence, layer, KvPart::Latent), positions, count, mla.kv_lora_rank, scale,
                                   head, head_end, own.attention_scores, s.scores_stride, s.latent_out.values[r * mla.heads]});
      at += head_end - head;
    }
  }

  // o = W_V u, head by head: each head has its own input.
  void projectValues(const Member& member) const {
    const MemberScratch& own = s.members[member.index()];
    const bool codes = n.usesCodes(w.w_v);
    eachHeadRun(member, [&](int head, int begin, int end) {
      for (int r = begin; r < end; ++r) {
        const int place = r * mla.heads + head;
        if (codes) quantise(n, s.latent_out.values[place], s.latent_out.codes[place], mla.kv_lora_rank);
        own.inputs[r - begin] = s.latent_out.values[place];
        own.codes[r - begin] = s.latent_out.codes[place];
      }
      productPart(n, w.w_v, {own.inputs, own.codes, end - begin}, s.attention_values.values.rows + begin, head * mla.v, (head + 1) * mla.v);
    });
  }

  void quantiseValues(const Member& member) const {
    if (!n.usesCodes(w.o)) return;
    const int cols = mla.heads * mla.v;
    eachPiece(member, tile.count(), cols, kColumnBlock,
              [&](int r, int begin, int end) { quantise(n, s.attention_values.values[r], s.attention_values.codes[r], cols, begin, end); });
  }

  void addToStream(const Member& member) const {
    eachPiece(member, tile.count(), ctx.config->hidden, kColumnBlock, [&](int r, int begin, int end) {
      float* const to = s.hidden[tile.begin + r] + begin;
      addTo(n, to, s.block_out[r] + begin, end - begin);
      if (!allFinite(to, end - begin)) s.members[member.index()].finite = false;
    });
  }

  void run(const Member& member) const {
    normInput(member);
    member.barrier();
    projectInput(member);
    member.barrier();
    storeLatents(member);
    member.barrier();
    projectQueries(member);
    member.barrier();
    if (selects) {
      selectPositions(ctx, member, layer, tile);
    } else if (full) {
      selectEverything(ctx, member, tile);
    }
    absorbQueries(member);
    member.barrier();
    attend(member);
    member.barrier();
    projectValues(member);
    member.barrier();
    quantiseValues(member);
    member.barrier();
    product(n, member, w.o, s.attention_values.input(0, tile.count()), s.block_out.rows);
    member.barrier();
    addToStream(member);
  }
};

}  // namespace

void runMla(const LayerContext& ctx, const LayerWeights& w, IndexerRole indexer, LayerId layer, const Tile& tile) {
  const MlaConfig& mla = ctx.config->mla;
  const bool full = indexer == IndexerRole::Full;
  CHECK(!full || w.attention.indexer.has_value());
  const MlaTile work{ctx,     mla,   *ctx.scratch, ctx.numerics, w, w.attention, indexer, layer, tile, full, full && selectionMatters(ctx, tile),
                     float(1.0 / std::sqrt(double(mla.nope + mla.rope)))};
  ctx.team->run([&work](const Member& member) { work.run(member); });
  if (ctx.tap != nullptr && full) reportIndex(ctx, layer, tile);
}

}  // namespace sluice
