#pragma once
// Multi-head latent attention in the weight-absorbed form, over all positions or over the index set of sparse attention. One algebra for
// prefill, decode and verification: rows are written to the cache first and read back from it in its own number format.

#include "core/model/layer_context.h"
#include "core/model/weights.h"

namespace sluice {

/// Adds Attn(RMS(h)) to scratch.hidden for the rows of a tile, and writes their KV rows. Tiles of a forward go in ascending order.
/// A Full layer fills index_sets and index_counts of its rows, a Shared layer reads what the last Full layer left there.
/// threads  enters one region
/// source   spec/model-families.md 1.4, 1.6, 1.7
void runMla(const LayerContext& ctx, const LayerWeights& w, IndexerRole indexer, LayerId layer, const Tile& tile);

}  // namespace sluice
