#pragma once
// Time as a parameter: policies and tests are handed a Clock, so that one seed replays one run and no test sleeps.

#include <chrono>

namespace sluice {

class Clock {
 public:
  virtual ~Clock() = default;
  /// Monotonic; never blocks.
  virtual std::chrono::nanoseconds now() const = 0;
};

class SteadyClock final : public Clock {
 public:
  std::chrono::nanoseconds now() const override { return std::chrono::steady_clock::now().time_since_epoch(); }
};

}  // namespace sluice
