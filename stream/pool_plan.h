#pragma once
// How many slots of which size a budget buys. Pure.

#include <cstdint>
#include <span>
#include <vector>

#include "core/base/bytes.h"
#include "core/base/result.h"

namespace sluice {

/// Experts that are alike in size (int4 layers; an int8 draft layer is a kind of its own).
struct ExpertKind {
  Bytes slot_bytes{0};  // the largest slot that any of them needs
  int experts = 0;
};

struct PoolLimits {
  Bytes budget{0};
  int experts_max = 0;  // most slots, whatever their size; 0: no such limit
  int top_k = 0;        // experts that a layer chooses for a row
};

struct SlotClass {
  Bytes slot_bytes{0};
  int slots = 0;
};

struct PoolPlan {
  std::vector<SlotClass> classes;
  std::vector<int> class_of_kind;
  int pins_max = 0;  // half of the scarcest class: what is demanded and what is still held always fit
  Bytes bytes() const;
};

/// The least bytes that planPool() accepts: 2 x top_k slots of the largest size.
Bytes leastPoolBytes(std::span<const ExpertKind> kinds, int top_k);

/// Shares the budget between the kinds in proportion to their experts, no kind below 2 x top_k slots or all of its experts; where that
/// does not fit, one class of the largest size serves all.
/// in      `layer_experts_max` experts in the largest layer
/// errors  OutOfBudget, naming the least that would do
Result<PoolPlan> planPool(std::span<const ExpertKind> kinds, const PoolLimits& limits, int layer_experts_max);

}  // namespace sluice
