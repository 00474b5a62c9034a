#pragma once
// Where Unicode differs between the reference tokenizer (16 in its regex engine, 9 in its NFC, about 8 in its list of punctuation) and the
// libraries that we use (PCRE2 10.42 and utf8proc 2.8: both 14).

#include <span>
#include <string_view>

namespace sluice {

/// Code points first..last, both included.
struct CodeRange {
  char32_t first, last;
};

/// One \p{name} and what PCRE2 must be told to mean the same by it.
struct UnicodeClass {
  std::string_view name;               // lower case, without spaces, hyphens and underscores
  std::string_view long_name;          // the same class in words, or empty
  std::string_view pcre;               // PCRE2's spelling
  std::span<const CodeRange> missing;  // what PCRE2's class lacks
};

/// By either name, spelled in any way (case, spaces, `-` and `_` are ignored); null for what has not been compared with the reference.
const UnicodeClass* findUnicodeClass(std::string_view name);

/// White_Space: the regex engines' \s, and what lstrip and rstrip of an added token eat. Unchanged since Unicode 6.3.
std::span<const CodeRange> whiteSpace();
/// With [\p{L}\p{M}\p{Nd}\p{Nl}\p{Pc}] of Unicode 14: a pattern's \w inside [ ]; outside of it the superscripts and fractions of Latin-1
/// (U+B2, B3, B9, BC, BD, BE) are word characters too.
std::span<const CodeRange> wordGap();
/// The same for the reference's other regex engine, which decides single_word and the pre-tokenizer Whitespace; it adds U+200C and U+200D.
std::span<const CodeRange> tokenWordGap();
/// With \p{N}: what the pre-tokenizer Digits takes (Unicode 17).
std::span<const CodeRange> digitGap();
/// \p{P} less these, and U+166D and U+111C9 more: what the pre-tokenizer Punctuation takes besides ASCII punctuation.
std::span<const CodeRange> youngPunctuation();
/// Characters that NFC leaves alone because its tables are older than they: no class of their own, no decomposition, no composition.
std::span<const CodeRange> inertInNfc();

/// `ranges` must be ascending, as all of the above are.
bool contains(std::span<const CodeRange> ranges, char32_t c);

}  // namespace sluice
