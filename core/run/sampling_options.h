#pragma once
// How the next token is drawn, as values. Absent fields take the model's generation_config.json, then the neutral value.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/base/result.h"

namespace sluice {

/// What a person, a request or a file asked for; absent: not said.
struct SamplingRequest {
  std::optional<double> temperature, top_p, min_p;
  std::optional<int> top_k;
};

/// What will be done. Neutral values are exact no-ops.
struct SamplingOptions {
  double temperature = 1.0;  // 0: argmax, ties to the lower id
  int top_k = 0;             // 0: off
  double top_p = 1.0;        // 1: off
  double min_p = 0.0;        // 0: off
  std::uint64_t seed = 0;    // draws are keyed by (seed, position)
  bool greedy() const { return temperature == 0.0; }
};

/// Fields of `first`, and where it says nothing those of `second`.
SamplingRequest preferring(const SamplingRequest& first, const SamplingRequest& second);

/// errors  BadRequest, naming the parameter, its value and what is allowed: temperature outside [0, 100], top_p outside (0, 1],
///         min_p outside [0, 1], top_k below -1; not a number anywhere. top_k -1 and 0 both mean off.
Result<SamplingOptions> settleSampling(const SamplingRequest& request, std::uint64_t seed);

}  // namespace sluice
