#include "core/model/dense_ffn.h"

#include "core/model/norm.h"
#include "core/model/product.h"

namespace sluice {

namespace {
constexpr int kColumnBlock = 512;  // columns a member takes at a time: a multiple of 64, the width of an activation group
}

void swiGlu(const LayerContext& ctx, const Member& member, const FfnWeights& w, const ProductInput& x, float* const* y) {
  const Activations& s = *ctx.scratch;
  const Numerics& n = ctx.numerics;
  DCHECK(x.rows <= s.tile_rows && w.gate.rows == w.up.rows && w.down.cols == w.gate.rows);
  product(n, member, w.gate, x, s.ffn_gate.values.rows);
  product(n, member, w.up, x, s.ffn_up.rows);
  member.barrier();
  const int inter = w.gate.rows;
  const bool codes = n.usesCodes(w.down);
  eachPiece(member, x.rows, inter, kColumnBlock, [&](int r, int begin, int end) {
    float* const gate = s.ffn_gate.values[r];
    n.kernels->silu_mul({gate + begin, s.ffn_up[r] + begin, gate + begin, end - begin});
    if (codes) quantise(n, gate, s.ffn_gate.codes[r], inter, begin, end);
  });
  member.barrier();
  product(n, member, w.down, s.ffn_gate.input(0, x.rows), y);
}

void runDenseFfn(const LayerContext& ctx, const LayerWeights& w, const Tile& tile) {
  const Activations& s = *ctx.scratch;
  const Numerics& n = ctx.numerics;
  const FfnWeights& ffn = *w.dense;
  const int hidden = ctx.config->hidden;
  const bool codes = n.usesCodes(ffn.gate) || n.usesCodes(ffn.up);
  ctx.team->run([&](const Member& member) {
    const Slice part = member.slice(tile.count());
    for (int r = part.begin; r < part.end; ++r) {
      rmsNorm(n, s.hidden[tile.begin + r], w.post_norm, ctx.config->rms_eps, s.attention_in.values[r]);
      if (codes) quantise(n, s.attention_in.values[r], s.attention_in.codes[r], hidden);
    }
    member.barrier();
    swiGlu(ctx, member, ffn, s.attention_in.input(0, tile.count()), s.block_out.rows);
    member.barrier();
    eachPiece(member, tile.count(), hidden, kColumnBlock, [&](int r, int begin, int end) {
      float* const to = s.hidden[tile.begin + r] + begin;
      addTo(n, to, s.block_out[r] + begin, end - begin);
      if (!allFinite(to, end - begin)) s.members[member.index()].finite = false;
    });
  });
}

}  // namespace sluice
