#pragma once
// Which slot to give up. A policy ranks the slots of one size class; it never learns what is pinned, and never gets to choose it. Plain
// data, no time, no chance: the same calls give the same victims. All memory is bought when it is made.

#include <cstdint>
#include <memory>
#include <span>

namespace sluice {

enum class CachePolicyKind { Lru };

class CachePolicy {
 public:
  virtual ~CachePolicy() = default;
  /// Expert `key` (its number in the model) gets `slot`, because it was asked for or, `demanded` false, guessed.
  virtual void admit(int slot, std::uint32_t key, bool demanded) = 0;
  /// The expert in `slot` was asked for and found.
  virtual void touch(int slot) = 0;
  /// `slot` was given up.
  virtual void forget(int slot) = 0;
  /// The slot to give up next, among those with evictable[slot] != 0; -1 when there is none. Changes nothing.
  virtual int victim(std::span<const std::uint8_t> evictable) const = 0;
};

/// A policy for `slots` slots.
std::unique_ptr<CachePolicy> makeCachePolicy(CachePolicyKind kind, int slots);

}  // namespace sluice
