#include "stream/pool_plan.h"

#include <algorithm>

#include <fmt/format.h>

#include "core/base/check.h"

namespace sluice {
namespace {

// Shares are tried in steps of 2^-20 of all experts: finer than one slot of a million.
constexpr std::uint64_t kShareOne = std::uint64_t(1) << 20;

int leastSlots(int experts, int top_k) { return std::min(2 * top_k, experts); }

int totalExperts(std::span<const ExpertKind> kinds) {
  int total = 0;
  for (const ExpertKind& kind : kinds) total += kind.experts;
  return total;
}

Bytes largestSlot(std::span<const ExpertKind> kinds) {
  Bytes largest{0};
  for (const ExpertKind& kind : kinds) largest = std::max(largest, kind.slot_bytes);
  return largest;
}

int slotsAt(const ExpertKind& kind, int top_k, std::uint64_t share) {
  return std::max(leastSlots(kind.experts, top_k), int(std::uint64_t(kind.experts) * share / kShareOne));
}

bool fits(std::span<const ExpertKind> kinds, const PoolLimits& limits, std::uint64_t share) {
  Bytes bytes{0};
  int slots = 0;
  for (const ExpertKind& kind : kinds) {
    const int n = slotsAt(kind, limits.top_k, share);
    bytes += kind.slot_bytes * std::uint64_t(n);
    slots += n;
  }
  return bytes <= limits.budget && (limits.experts_max == 0 || slots <= limits.experts_max);
}

// One class a kind: the largest share that fits, found by halving, then single slots while there is room.
PoolPlan separateClasses(std::span<const ExpertKind> kinds, const PoolLimits& limits) {
  std::uint64_t low = 0, high = kShareOne;  // `low` fits
  while (low < high) {
    const std::uint64_t middle = (low + high + 1) / 2;
    if (fits(kinds, limits, middle)) {
      low = middle;
    } else {
      high = middle - 1;
    }
  }
  PoolPlan plan;
  Bytes spent{0};
  int slots = 0;
  for (std::size_t kind_idx = 0; kind_idx < kinds.size(); ++kind_idx) {
    const int n = slotsAt(kinds[kind_idx], limits.top_k, low);
    plan.classes.push_back({kinds[kind_idx].slot_bytes, n});
    plan.class_of_kind.push_back(int(kind_idx));
    spent += kinds[kind_idx].slot_bytes * std::uint64_t(n);
    slots += n;
  }
  for (std::size_t kind_idx = 0; kind_idx < kinds.size(); ++kind_idx) {
    SlotClass& c = plan.classes[kind_idx];
    while (c.slots < kinds[kind_idx].experts && spent + c.slot_bytes <= limits.budget && (limits.experts_max == 0 || slots < limits.experts_max)) {
      ++c.slots;
      ++slots;
      spent += c.slot_bytes;
    }
  }
  return plan;
}

}  // namespace

Bytes PoolPlan::bytes() const {
  Bytes sum{0};
  for (const SlotClass& c : classes) sum += c.slot_bytes * std::uint64_t(c.slots);
  return sum;
}

Bytes leastPoolBytes(std::span<const ExpertKind> kinds, int top_k) {
  return largestSlot(kinds) * std::uint64_t(leastSlots(totalExperts(kinds), top_k));
}

Result<PoolPlan> planPool(std::span<const ExpertKind> kinds, const PoolLimits& limits, int layer_experts_max) {
  CHECK(!kinds.empty() && limits.top_k >= 1);
  const int experts = totalExperts(kinds);
  const int least = leastSlots(experts, limits.top_k);
  if (limits.experts_max != 0 && limits.experts_max < least)
    return Error{Errc::OutOfBudget, fmt::format("a cache of {} experts is too small: a layer chooses {} and the cache must hold twice as many; "
                                                "give --cache-experts {} or more",
                                                limits.experts_max, limits.top_k, least)};
  const Bytes largest = largestSlot(kinds);
  PoolPlan plan;
  if (fits(kinds, limits, 0)) {
    plan = separateClasses(kinds, limits);
  } else {
    std::uint64_t slots = std::min(limits.budget / largest, std::uint64_t(experts));
    if (limits.experts_max != 0) slots = std::min(slots, std::uint64_t(limits.experts_max));
    if (slots < std::uint64_t(least))
      return Error{Errc::OutOfBudget,
                   fmt::format("{} bytes are left for the expert cache, which needs at least {}: {} slots of {} bytes (a layer chooses {} experts); "
                               "raise --ram by {} bytes or more",
                               limits.budget.count(), leastPoolBytes(kinds, limits.top_k).count(), least, largest.count(), limits.top_k,
                               (leastPoolBytes(kinds, limits.top_k) - limits.budget).count())};
    plan.classes.push_back({largest, int(slots)});
    plan.class_of_kind.assign(kinds.size(), 0);
  }
  plan.pins_max = layer_experts_max;
  for (std::size_t class_idx = 0; class_idx < plan.classes.size(); ++class_idx) {
    int users = 0;
    for (std::size_t kind_idx = 0; kind_idx < kinds.size(); ++kind_idx)
      users += plan.class_of_kind[kind_idx] == int(class_idx) ? kinds[kind_idx].experts : 0;
    // Where every expert has a slot nothing is ever waited for.
    if (plan.classes[class_idx].slots < users) plan.pins_max = std::min(plan.pins_max, plan.classes[class_idx].slots / 2);
  }
  return plan;
}

}  // namespace sluice
