#pragma once
// String operations that filters and methods share. Each keeps the author of every character.

#include <optional>
#include <vector>

#include "core/text/jinja/run.h"

namespace sluice::jinja {

enum class Case : std::uint8_t { Upper, Lower, Capitalize, Title, Swap, Fold };
Text inCase(const Text& text, Case to);

enum class Side : std::uint8_t { Left, Right, Both };
/// Without the characters of `set` (white space when it is none) at its ends.
Text stripped(const Text& text, const std::optional<std::string>& set, Side side);

/// Pieces between separators, at most `limit` cuts (< 0: all); no separator: runs of white space, none of them kept.
Result<std::vector<Text>> splitAt(Run& run, const Text& text, const std::optional<std::string>& separator, std::int64_t limit);
Result<std::vector<Text>> splitAtFromRight(Run& run, const Text& text, const std::optional<std::string>& separator, std::int64_t limit);
std::vector<Text> splitLines(const Text& text, bool keep_ends);

/// `limit` < 0: all.
Result<Text> replaced(Run& run, const Text& text, const Text& from, const Text& to, std::int64_t limit);
/// Last place of `needle` that begins at or after `from` and ends at or before `end`, or npos.
Result<std::size_t> findLast(Run& run, std::string_view text, std::string_view needle, std::size_t from, std::size_t end);

}  // namespace sluice::jinja
