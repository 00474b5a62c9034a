#include "core/run/sampling_options.h"

#include <fmt/format.h>

namespace sluice {
namespace {

// Written so that NaN, which compares false with everything, is refused too.
Result<double> within(const char* name, double value, double low, bool low_allowed, double high) {
  const bool above = low_allowed ? value >= low : value > low;
  if (above && value <= high) return value;
  return Error{Errc::BadRequest, fmt::format("{} is {}, and must be {} {} and at most {}", name, value, low_allowed ? "at least" : "above", low, high)};
}

}  // namespace

SamplingRequest preferring(const SamplingRequest& first, const SamplingRequest& second) {
  SamplingRequest both = first;
  if (!both.temperature) both.temperature = second.temperature;
  if (!both.top_p) both.top_p = second.top_p;
  if (!both.min_p) both.min_p = second.min_p;
  if (!both.top_k) both.top_k = second.top_k;
  return both;
}

Result<SamplingOptions> settleSampling(const SamplingRequest& request, std::uint64_t seed) {
  SamplingOptions options;
  options.seed = seed;
  options.temperature = TRY(within("temperature", request.temperature.value_or(options.temperature), 0, true, 100));
  options.top_p = TRY(within("top_p", request.top_p.value_or(options.top_p), 0, false, 1));
  options.min_p = TRY(within("min_p", request.min_p.value_or(options.min_p), 0, true, 1));
  const int top_k = request.top_k.value_or(0);
  if (top_k < -1) return Error{Errc::BadRequest, fmt::format("top_k is {}, and must be at least 1, or 0 or -1 for off", top_k)};
  options.top_k = top_k == -1 ? 0 : top_k;
  return options;
}

}  // namespace sluice
