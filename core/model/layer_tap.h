#pragma once
// Sees what a forward computes on its way: for `trace` and `--trace-routes`. Null in normal use.

#include <cstdint>
#include <span>

#include "core/base/ids.h"

namespace sluice {

/// Called on the thread that called forward(), outside parallel regions. `row` counts within the forward. Spans are valid during the call.
class LayerTap {
 public:
  virtual ~LayerTap() = default;
  /// The residual stream after `layer`, before the final norm: [hidden].
  virtual void hidden(LayerId layer, int row, std::span<const float> values) = 0;
  /// The experts chosen, ascending, with their final weights; `margin`: biased score of the last chosen less that of the first refused
  /// (infinite when none was refused).
  virtual void router(LayerId layer, int row, std::span<const ExpertId> ids, std::span<const float> weights, float margin) = 0;
  /// What the indexer of a full layer chose, ascending; every position up to the row's own while these are no more than its top k.
  virtual void index(LayerId layer, int row, std::span<const std::int32_t> positions) = 0;
};

}  // namespace sluice
