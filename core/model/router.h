#pragma once
// Which experts see a row, and how they are weighed: RouterKind::SigmoidBias (spec/model-families.md R4).

#include <span>

#include "core/base/ids.h"
#include "core/model/config.h"
#include "core/model/layer_context.h"
#include "core/model/weights.h"

namespace sluice {

/// Chooses top_k experts by score + bias, ties to the lower id, and weighs them by their scores alone: divided by (their sum + 1e-20) when
/// the config normalises, then scaled. The sum runs in ascending id.
/// in      scores [experts] f32 in (0, 1); bias [experts] f32
/// out     ids [top_k] ascending; weights [top_k]
/// returns biased score of the last chosen less that of the first refused; infinite when none was refused
/// threads const; concurrent calls need distinct outputs
/// source  spec/model-families.md 1.8
float chooseExperts(const RouterConfig& config, std::span<const float> scores, VectorView bias, std::span<ExpertId> ids, std::span<float> weights);

/// Scores and chooses for rows [0, rows) of the forward, from scratch.ffn_in into routed_ids, routed_weights and routed_margins. The product is
/// f32 by f32 whatever the options. A member's part of a region; has one barrier inside.
void routeRows(const LayerContext& ctx, const Member& member, const LayerWeights& w, int rows);

}  // namespace sluice
