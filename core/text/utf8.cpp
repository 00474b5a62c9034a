#include "core/text/utf8.h"

#include <simdjson.h>

namespace sluice {
namespace {

// Bytes that a lead byte asks for, 0 where it leads nothing, and the bounds of the second byte.
struct Lead {
  int bytes;
  unsigned char second_min = 0x80, second_max = 0xBF;
};

Lead leadOf(unsigned char c) {
  if (c < 0x80) return {1};
  if (c < 0xC2 || c > 0xF4) return {0};
  if (c < 0xE0) return {2};
  if (c == 0xE0) return {3, 0xA0, 0xBF};
  if (c == 0xED) return {3, 0x80, 0x9F};
  if (c < 0xF0) return {3};
  if (c == 0xF0) return {4, 0x90, 0xBF};
  if (c == 0xF4) return {4, 0x80, 0x8F};
  return {4};
}

}  // namespace

std::size_t utf8FaultAt(std::string_view text) {
  if (simdjson::validate_utf8(text.data(), text.size())) return std::string_view::npos;
  for (std::size_t i = 0; i < text.size();) {
    const Lead lead = leadOf(static_cast<unsigned char>(text[i]));
    if (lead.bytes == 0 || text.size() - i < std::size_t(lead.bytes)) return i;
    for (int k = 1; k < lead.bytes; ++k) {
      const auto c = static_cast<unsigned char>(text[i + std::size_t(k)]);
      const unsigned char low = k == 1 ? lead.second_min : 0x80, high = k == 1 ? lead.second_max : 0xBF;
      if (c < low || c > high) return i;
    }
    i += std::size_t(lead.bytes);
  }
  return std::string_view::npos;
}

CodePoint codePointAt(std::string_view text, std::size_t at) {
  const auto byte = [&](std::size_t k) { return char32_t(static_cast<unsigned char>(text[at + k])); };
  const char32_t c = byte(0);
  if (c < 0x80) return {c, 1};
  if (c < 0xE0) return {((c & 0x1F) << 6) | (byte(1) & 0x3F), 2};
  if (c < 0xF0) return {((c & 0x0F) << 12) | ((byte(1) & 0x3F) << 6) | (byte(2) & 0x3F), 3};
  return {((c & 0x07) << 18) | ((byte(1) & 0x3F) << 12) | ((byte(2) & 0x3F) << 6) | (byte(3) & 0x3F), 4};
}

CodePoint codePointBefore(std::string_view text, std::size_t end) {
  std::size_t at = end - 1;
  while (at > 0 && (static_cast<unsigned char>(text[at]) & 0xC0) == 0x80) --at;
  return codePointAt(text, at);
}

void appendUtf8(std::string& out, char32_t c) {
  if (c < 0x80) {
    out += char(c);
  } else if (c < 0x800) {
    out += char(0xC0 | (c >> 6));
    out += char(0x80 | (c & 0x3F));
  } else if (c < 0x10000) {
    out += char(0xE0 | (c >> 12));
    out += char(0x80 | ((c >> 6) & 0x3F));
    out += char(0x80 | (c & 0x3F));
  } else {
    out += char(0xF0 | (c >> 18));
    out += char(0x80 | ((c >> 12) & 0x3F));
    out += char(0x80 | ((c >> 6) & 0x3F));
    out += char(0x80 | (c & 0x3F));
  }
}

}  // namespace sluice
