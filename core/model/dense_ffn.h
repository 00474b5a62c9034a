#pragma once
// SwiGLU: down(silu(gate x) * up x), for dense layers, shared experts and routed experts alike.

#include "core/model/layer_context.h"
#include "core/model/weights.h"

namespace sluice {

/// y[r] = down(silu(gate x[r]) * up x[r]) for x.rows rows, at most scratch.tile_rows. A member's part of a region; has barriers inside, and
/// needs one before y is read.
void swiGlu(const LayerContext& ctx, const Member& member, const FfnWeights& w, const ProductInput& x, float* const* y);

/// Adds FFN(RMS(h)) to scratch.hidden for the rows of a tile: a dense layer's second half. Enters one region.
void runDenseFfn(const LayerContext& ctx, const LayerWeights& w, const Tile& tile);

}  // namespace sluice
