#pragma once
// A pattern as tokenizer.json writes it (Oniguruma) to one by which PCRE2 means the same.

#include <string>
#include <string_view>

#include "core/base/result.h"

namespace sluice {

/// Writes Unicode 16 into the classes (unicode_gap.h) and turns round what the two engines read differently: \s \d \w \b \h \v \R, scripts
/// (PCRE2 takes the extensions too), (?m), {n,m}+ (a repeat there, possessive here), {,n}, inline (?i). Compile the result with UTF, UCP,
/// MULTILINE and newline LF.
/// in      `pattern` is UTF-8
/// errors  Unsupported: by name what has no faithful spelling here (class intersections, nested and POSIX classes, back references,
///         unknown properties, ...), with its place in the pattern; Corrupt: what no engine reads
Result<std::string> rewriteForPcre2(std::string_view pattern);

/// The body of a class, for use inside [ ], that holds \p{name} as the reference means it; CHECKs that findUnicodeClass knows it.
std::string classBody(std::string_view name);
/// The same for White_Space, a pattern's \w inside [ ], and the pre-tokenizers' own \w and digits.
std::string spaceBody();
std::string wordBody();
std::string tokenWordBody();
std::string digitBody();
/// A pattern (not a body) that matches one character of the pre-tokenizer Punctuation.
std::string punctuationPattern();

}  // namespace sluice
