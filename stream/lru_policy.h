#pragma once
// Gives up what was asked for longest ago.

#include <vector>

#include "stream/cache_policy.h"

namespace sluice {

class LruPolicy final : public CachePolicy {
 public:
  explicit LruPolicy(int slots);
  void admit(int slot, std::uint32_t key, bool demanded) override;
  void touch(int slot) override;
  void forget(int slot) override;
  int victim(std::span<const std::uint8_t> evictable) const override;

 private:
  struct Link {
    int before = -1, after = -1;
  };
  void append(int slot);
  void remove(int slot);
  // A ring through links_[slots]: its `after` is the oldest, its `before` the newest.
  std::vector<Link> links_;
  int ring_;
};

}  // namespace sluice
