#include "core/text/byte_alphabet.h"

#include <array>
#include <cstdint>

#include "core/text/utf8.h"

namespace sluice {
namespace {

constexpr bool standsForItself(int byte) { return (0x21 <= byte && byte <= 0x7E) || (0xA1 <= byte && byte <= 0xAC) || (0xAE <= byte && byte <= 0xFF); }

struct Alphabet {
  std::array<char32_t, 256> letter{};
  std::array<std::int16_t, 0x144> byte{};  // -1: spells nothing
};

constexpr Alphabet makeAlphabet() {
  Alphabet a;
  for (auto& b : a.byte) b = -1;
  char32_t next = 0x100;
  for (int byte = 0; byte < 256; ++byte) {
    const char32_t c = standsForItself(byte) ? char32_t(byte) : next++;
    a.letter[std::size_t(byte)] = c;
    a.byte[c] = std::int16_t(byte);
  }
  return a;
}

constexpr Alphabet kAlphabet = makeAlphabet();
static_assert(kAlphabet.letter[0x20] == 0x120 && kAlphabet.letter[0xAD] == 0x143, "space is U+0120, and U+0143 the last letter");

}  // namespace

char32_t letterOf(unsigned char byte) { return kAlphabet.letter[byte]; }

std::optional<unsigned char> byteOf(char32_t c) {
  if (c >= kAlphabet.byte.size() || kAlphabet.byte[c] < 0) return std::nullopt;
  return static_cast<unsigned char>(kAlphabet.byte[c]);
}

void spell(std::string_view bytes, std::string& out) {
  for (const char c : bytes) appendUtf8(out, letterOf(static_cast<unsigned char>(c)));
}

bool unspell(std::string_view spelling, std::string& out) {
  const std::size_t before = out.size();
  for (std::size_t i = 0; i < spelling.size();) {
    const CodePoint c = codePointAt(spelling, i);
    const auto byte = byteOf(c.value);
    if (!byte) {
      out.resize(before);
      return false;
    }
    out += char(*byte);
    i += std::size_t(c.bytes);
  }
  return true;
}

}  // namespace sluice
