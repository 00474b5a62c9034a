#include "core/run/token_classes.h"

namespace sluice {
namespace {

bool isDigit(char c) { return c >= '0' && c <= '9'; }
bool isLetter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (static_cast<unsigned char>(c) & 0x80) != 0; }
bool isBlank(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

constexpr std::size_t kDigitsMax = 9;

}  // namespace

ClassifiedToken classifyToken(std::string_view bytes) {
  std::string_view core = bytes;
  if (!core.empty() && core.front() == ' ') core.remove_prefix(1);
  bool digits = !core.empty(), letters = false, blanks = true, line = false;
  std::int64_t number = 0;
  for (const char c : core) {
    digits = digits && isDigit(c);
    if (digits && core.size() <= kDigitsMax) number = number * 10 + (c - '0');
  }
  if (digits) return {TokenClass::Number, core.size() <= kDigitsMax ? number : -1};
  for (const char c : bytes) {
    letters = letters || isLetter(c) || isDigit(c);
    blanks = blanks && isBlank(c);
    line = line || c == '\n' || c == '\r';
  }
  if (bytes.empty() || letters) return {TokenClass::Word, -1};
  if (!blanks) return {TokenClass::Punctuation, -1};
  return {line ? TokenClass::Line : TokenClass::Space, -1};
}

TokenClasses::TokenClasses(const Tokenizer& tokenizer) {
  tokens_.reserve(std::size_t(tokenizer.size()));
  for (int id = 0; id < tokenizer.size(); ++id) tokens_.push_back(classifyToken(tokenizer.bytesOf(TokenId(std::uint32_t(id)))));
}

}  // namespace sluice
