#pragma once
// Ctrl-C: the first asks, the second leaves.

#include <atomic>

namespace sluice {

/// While one lives, SIGINT and SIGTERM set a flag; a second one ends the program at once (exit 130). One at a time.
class InterruptGuard {
 public:
  InterruptGuard();
  ~InterruptGuard();
  InterruptGuard(const InterruptGuard&) = delete;
  InterruptGuard& operator=(const InterruptGuard&) = delete;
  /// Somebody asked for an end since the guard was made or cleared.
  bool interrupted() const { return flag().load(); }
  const std::atomic<bool>& flag() const;
  void clear();
};

}  // namespace sluice
