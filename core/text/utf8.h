#pragma once
// UTF-8, for text that tokenizers read.

#include <cstddef>
#include <string>
#include <string_view>

namespace sluice {

/// The first byte at which `text` stops being UTF-8 (no surrogates, no overlong forms), or npos.
std::size_t utf8FaultAt(std::string_view text);

struct CodePoint {
  char32_t value;
  int bytes;
};
/// The character at `at`; `text` must be UTF-8 and `at` the first byte of a character.
CodePoint codePointAt(std::string_view text, std::size_t at);
/// The character that ends before `end` > 0; same conditions.
CodePoint codePointBefore(std::string_view text, std::size_t end);

void appendUtf8(std::string& out, char32_t c);

}  // namespace sluice
