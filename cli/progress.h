#pragma once
// How far a long step is: one line that is rewritten on a terminal, a plain line now and then elsewhere. On stderr, and only for what takes long.

#include <chrono>
#include <string>
#include <string_view>

#include "core/base/clock.h"

namespace sluice {

class Progress {
 public:
  /// Nothing is shown in a step's first `patience`.
  Progress(const Clock& clock, bool terminal, std::chrono::nanoseconds patience = std::chrono::seconds(2));
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  /// `done` of `total` `unit`s of `what`; a new `what` begins a new step. Cheap when called often.
  void show(std::string_view what, double done, double total, std::string_view unit);
  /// Wipes the line: something else is about to be written.
  void clear();

  /// The line for a step: what, percentage, rate and time left.
  static std::string line(std::string_view what, double done, double total, std::string_view unit, std::chrono::nanoseconds elapsed);

 private:
  const Clock& clock_;
  bool terminal_;
  std::chrono::nanoseconds patience_;
  std::string what_;
  std::chrono::nanoseconds began_{0}, shown_{0};
  bool on_screen_ = false;
};

}  // namespace sluice
