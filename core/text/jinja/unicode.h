#pragma once
// What Python's str methods know of characters: classes, and case with the expansions of SpecialCasing (ß to SS).

#include <string>
#include <string_view>

namespace sluice::jinja {

bool isSpace(char32_t code);      // str.isspace, and what strip() and split() take
bool isLineBreak(char32_t code);  // str.splitlines
bool isAlpha(char32_t code);
bool isDecimal(char32_t code);
/// 0 to 9 of a decimal digit of any script.
int decimalValue(char32_t code);
bool isDigit(char32_t code);
bool isNumeric(char32_t code);
bool isLower(char32_t code);
bool isUpper(char32_t code);
bool isTitle(char32_t code);      // a title-case letter
bool isCased(char32_t code);
bool isPrintable(char32_t code);  // what repr() leaves as it is
bool isWord(char32_t code);       // \w

/// UTF-8 of one character in another case. `previous_cased` / `next_cased` decide the final sigma.
std::string upperOf(char32_t code);
std::string titleOf(char32_t code);
std::string lowerOf(char32_t code, bool final_sigma);
std::string foldOf(char32_t code);
/// True when the sigma at `at` ends a word, so that its lower case is U+03C2.
bool isFinalSigma(std::string_view text, std::size_t at);

}  // namespace sluice::jinja
