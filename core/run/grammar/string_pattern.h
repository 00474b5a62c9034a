#pragma once
// Regular expressions (the ECMA-262 subset that JSON schemas use) over the *value* of a JSON string, spelled as a grammar over its JSON text.

#include <string_view>
#include <utility>
#include <vector>

#include "core/base/result.h"
#include "core/run/grammar/grammar.h"

namespace sluice {

using CodePointRanges = std::vector<std::pair<std::uint32_t, std::uint32_t>>;

/// One character of a JSON string whose value lies in `ranges` (inverted when `negated`): as itself, or escaped where JSON demands it.
Grammar::NodeId stringCharacter(Grammar& grammar, CodePointRanges ranges, bool negated);
/// Any character of a JSON string: itself, a short escape, or \uXXXX (surrogates in pairs only).
Grammar::NodeId anyStringCharacter(Grammar& grammar);

/// The inside of a JSON string (without its quotes) whose value `pattern` matches somewhere; ^ and $ are honoured at the ends of the pattern or of a
/// top-level alternative.
/// errors  BadRequest: back references, look-around, word boundaries, lazy quantifiers and the like, by name and place
Result<Grammar::NodeId> compilePattern(Grammar& grammar, std::string_view pattern);

}  // namespace sluice
