#pragma once
// The second half of a sparse layer: router, shared expert, and the routed experts as their weights arrive.

#include <span>

#include "core/base/result.h"
#include "core/model/layer_context.h"
#include "core/model/weights.h"

namespace sluice {

/// Adds shared(x) + sum of weight * expert(x), x = RMS(h), to scratch.hidden for all rows of the forward. Each expert is read once for all rows.
/// Experts go in waves of ascending ids, each wave as large as pins and scratch allow; within a wave they are computed as they arrive, and summed
/// when all are there. So a row's sum (shared expert first, then ascending ids, one fma an element) depends on the row alone.
/// threads  several regions; waits for experts between them
/// errors   those of ExpertSource::next, and Cancelled
/// source   spec/model-families.md 1.8
Result<Done> runMoe(const LayerContext& ctx, const LayerWeights& w, LayerId layer, std::span<const ForwardRow> rows);

}  // namespace sluice
