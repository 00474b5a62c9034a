#pragma once
// Unicode normalisation form C, as the reference tokenizer's tables (Unicode 9) have it.

#include <cstddef>
#include <string>
#include <string_view>

#include "core/text/authored_runs.h"

namespace sluice {

/// Appends the NFC of text[begin, end) (UTF-8, characters whole) to `out`, and the author of each byte to `out_runs`: of a character that was
/// composed of several, markup only if all of them were. `runs` tells who wrote `text`.
/// threads any
void appendNfc(std::string_view text, const AuthoredRuns& runs, std::size_t begin, std::size_t end, std::string& out, AuthoredRuns& out_runs);

}  // namespace sluice
