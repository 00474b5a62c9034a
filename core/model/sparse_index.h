#pragma once
// The lightning indexer of sparse attention: an index key for every token, and for each query row the top-k positions that attention may
// see (spec/model-families.md 1.7; "GLM" kind: rotated part first, pairs). Functions that take a Member are its part of a region.

#include <cstdint>
#include <span>

#include "core/model/layer_context.h"
#include "core/model/weights.h"

namespace sluice {

/// Writes the k largest of scores[0, n), k < n, as ascending positions; equal scores fall to the lowest position. Any bit pattern has its place in
/// the order, NaN included, so that hostile weights can't break the selection.
/// in      keys [n]: scratch
/// out     positions [k]
void selectTop(std::span<const float> scores, int k, std::uint64_t* keys, std::int32_t* positions);

/// True when some row of the tile sees more positions than the indexer keeps: below that, everything is selected.
bool selectionMatters(const LayerContext& ctx, const Tile& tile);

/// Norms, rotates and stores the index keys of this member's rows, from scratch.index_key (x @ wk^T). For every token, whether or not the
/// selection matters yet: later rows will score it.
void storeIndexKeys(const LayerContext& ctx, const Member& member, const IndexerWeights& w, LayerId layer, const Tile& tile);

/// Chooses positions for all rows of the tile from scratch.index_query (unrotated) and scratch.index_weights (unscaled) into index_sets
/// and index_counts. Has barriers inside; ends with one.
void selectPositions(const LayerContext& ctx, const Member& member, LayerId layer, const Tile& tile);

/// Notes that every position is selected, for this member's rows.
void selectEverything(const LayerContext& ctx, const Member& member, const Tile& tile);

/// Tells the tap what was chosen; outside regions.
void reportIndex(const LayerContext& ctx, LayerId layer, const Tile& tile);

}  // namespace sluice
