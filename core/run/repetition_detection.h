#pragma once
// A client's own loop test, with vLLM's names and meaning (`repetition_detection`): exact, contiguous, anchored at the tail of the generated ids,
// reasoning included. Independent of the loop guard.

#include <optional>
#include <span>

#include "core/base/ids.h"
#include "core/base/result.h"

namespace sluice {

struct RepetitionDetection {
  int max_pattern_size = 0;  // 0: off
  int min_pattern_size = 0;  // 0 is taken as 1
  int min_count = 0;         // copies, at least 2
};

/// errors  BadRequest, naming the field: negative sizes, min above max, fewer than 2 copies, or more work than
///         (max - min + 1) * min_count = 16384 a token
Result<Done> checkRepetitionDetection(const RepetitionDetection& request);

/// The length of the shortest unit that `generated` ends with min_count copies of; nothing when there is none (or the request is off).
std::optional<int> repeatedUnit(const RepetitionDetection& request, std::span<const TokenId> generated);

}  // namespace sluice
