#include "core/run/repetition_detection.h"

#include <algorithm>

#include <fmt/format.h>

namespace sluice {
namespace {

constexpr long kWorkMax = 16384;  // sizes 1 to 2048 with 5 copies pass, with 100 they do not
constexpr int kSizeMax = 8192;

}  // namespace

Result<Done> checkRepetitionDetection(const RepetitionDetection& r) {
  const auto fault = [](const char* field, int value, const char* allowed) {
    return Error{Errc::BadRequest, fmt::format("repetition_detection.{} is {}; it must be {}", field, value, allowed)};
  };
  if (r.max_pattern_size < 0 || r.max_pattern_size > kSizeMax) return fault("max_pattern_size", r.max_pattern_size, "from 0 (off) to 8192");
  if (r.min_pattern_size < 0) return fault("min_pattern_size", r.min_pattern_size, "0 or above");
  if (r.max_pattern_size == 0) return Done{};
  if (r.min_pattern_size > r.max_pattern_size) return fault("min_pattern_size", r.min_pattern_size, "at most max_pattern_size");
  if (r.min_count < 2) return fault("min_count", r.min_count, "2 or above");
  const long work = long(r.max_pattern_size - std::max(1, r.min_pattern_size) + 1) * r.min_count;
  if (work > kWorkMax)
    return Error{Errc::BadRequest, fmt::format("repetition_detection asks for {} comparisons a token ((max - min + 1) * min_count); {} are allowed", work, kWorkMax)};
  return Done{};
}

std::optional<int> repeatedUnit(const RepetitionDetection& r, std::span<const TokenId> ids) {
  if (r.max_pattern_size <= 0 || r.min_count < 2) return std::nullopt;
  for (int length = std::max(1, r.min_pattern_size); length <= r.max_pattern_size; ++length) {
    const std::size_t covered = std::size_t(length) * std::size_t(r.min_count);
    if (covered > ids.size()) return std::nullopt;
    const auto tail = ids.last(covered);
    // All copies are equal when the tail equals itself one copy on.
    if (std::equal(tail.begin() + length, tail.end(), tail.begin())) return length;
  }
  return std::nullopt;
}

}  // namespace sluice
