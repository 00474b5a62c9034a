#pragma once
// One layer of the trunk, or the draft layer: attention, then a dense or a sparse FFN, over all rows of a forward.

#include <span>

#include "core/base/result.h"
#include "core/model/layer_context.h"
#include "core/model/weights.h"

namespace sluice {

/// Takes scratch.hidden through the layer, in place, and writes the rows' KV. Commits nothing.
/// errors  Numeric (a value that is not finite; names the layer and the half of it), Cancelled, and those of the expert source
Result<Done> runLayer(const LayerContext& ctx, const LayerWeights& w, const LayerConfig& config, LayerId layer, std::span<const ForwardRow> rows);

}  // namespace sluice
