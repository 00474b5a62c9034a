#pragma once
// A benchmark is a test with two sizes: smoke-sized under ctest, so that it cannot rot, and real when SLUICE_BENCH=real is set. It prints a checksum (the
// work happened), bytes a second beside what this machine can read, and its seed; the time is the median of its runs.

#include <chrono>
#include <cstdint>
#include <string_view>
#include <vector>

#include "core/base/bytes.h"
#include "core/base/parallel.h"

namespace sluice::bench {

struct Sizes {
  int smoke, real;
};

/// True when the real sizes are asked for.
bool isReal();

class Bench {
 public:
  explicit Bench(std::string_view name) : name_(name) {}
  /// The size of this run, remembered for the report.
  int size(Sizes sizes) const { return isReal() ? sizes.real : sizes.smoke; }
  void start();
  void stop();
  /// Median seconds of the runs so far.
  double seconds() const;
  /// Prints one line: name, median time, bytes a second, its share of `limit` bytes a second (0: none known), checksum, seed.
  void report(std::uint64_t checksum, Bytes bytes_a_run, double limit, std::uint64_t seed) const;

 private:
  std::string_view name_;
  std::chrono::steady_clock::time_point began_;
  std::vector<double> runs_;
};

/// Bytes a second that the team can read from `bytes` of memory: the best of several loops, each run a few times.
double readRate(Team& team, const std::byte* memory, std::size_t bytes);

}  // namespace sluice::bench
