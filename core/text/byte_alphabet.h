#pragma once
// The byte alphabet: one printable character for each byte, in which byte-level vocabularies are spelled. Printable Latin-1 stands for
// itself; the other 68 bytes take U+0100.. in ascending order.

#include <optional>
#include <string>
#include <string_view>

namespace sluice {

/// The character of `byte`.
char32_t letterOf(unsigned char byte);
/// The byte that `c` spells, if any.
std::optional<unsigned char> byteOf(char32_t c);
/// Appends the spelling of `bytes`.
void spell(std::string_view bytes, std::string& out);
/// Appends the bytes that `spelling` (UTF-8) stands for; false, and nothing appended, if one of its characters spells no byte.
bool unspell(std::string_view spelling, std::string& out);

}  // namespace sluice
