#include "core/text/jinja/text.h"

#include <cstring>

namespace sluice::jinja {

bool Text::anyClient() const {
  if (marks_.empty()) return !markup_ && !bytes_.empty();
  return marks_.find('\0') != std::string::npos;
}

void Text::spreadMarks() {
  if (marks_.empty()) marks_.assign(bytes_.size(), markup_ ? '\1' : '\0');
}

void Text::append(std::string_view more, bool markup) {
  if (more.empty()) return;
  if (bytes_.empty()) {
    marks_.clear();
    markup_ = markup;
  } else if (!marks_.empty() || markup != markup_) {
    spreadMarks();
    marks_.append(more.size(), markup ? '\1' : '\0');
  }
  bytes_.append(more);
}

void Text::append(const Text& more) { append(more, 0, more.size()); }

void Text::append(const Text& source, std::size_t from, std::size_t count) {
  if (count == 0) return;
  const std::string_view part = std::string_view(source.bytes_).substr(from, count);
  if (source.marks_.empty()) return append(part, source.markup_);
  if (bytes_.empty()) {
    marks_.clear();
  } else {
    spreadMarks();
  }
  bytes_.append(part);
  marks_.append(source.marks_, from, count);
}

Text Text::slice(std::size_t from, std::size_t count) const {
  Text part;
  part.append(*this, from, count);
  return part;
}

CodePoint decodeAt(std::string_view text, std::size_t at) {
  const auto byte = [&](std::size_t i) -> unsigned { return i < text.size() ? static_cast<unsigned char>(text[i]) : 0u; };
  const auto follows = [&](std::size_t i) { return (byte(i) & 0xC0u) == 0x80u; };
  const unsigned first = byte(at);
  if (first < 0x80) return {first, 1};
  if (first >= 0xC2 && first <= 0xDF && follows(at + 1)) return {((first & 0x1F) << 6) | (byte(at + 1) & 0x3F), 2};
  if (first >= 0xE0 && first <= 0xEF && follows(at + 1) && follows(at + 2)) {
    const char32_t code = ((first & 0x0F) << 12) | ((byte(at + 1) & 0x3F) << 6) | (byte(at + 2) & 0x3F);
    if (code >= 0x800 && (code < 0xD800 || code > 0xDFFF)) return {code, 3};
  }
  if (first >= 0xF0 && first <= 0xF4 && follows(at + 1) && follows(at + 2) && follows(at + 3)) {
    const char32_t code = ((first & 0x07) << 18) | ((byte(at + 1) & 0x3F) << 12) | ((byte(at + 2) & 0x3F) << 6) | (byte(at + 3) & 0x3F);
    if (code >= 0x10000 && code <= 0x10FFFF) return {code, 4};
  }
  return {0xFFFD, 1};
}

void appendUtf8(std::string& out, char32_t code) {
  if (code < 0x80) {
    out.push_back(static_cast<char>(code));
  } else if (code < 0x800) {
    out.push_back(static_cast<char>(0xC0 | (code >> 6)));
    out.push_back(static_cast<char>(0x80 | (code & 0x3F)));
  } else if (code < 0x10000) {
    out.push_back(static_cast<char>(0xE0 | (code >> 12)));
    out.push_back(static_cast<char>(0x80 | ((code >> 6) & 0x3F)));
    out.push_back(static_cast<char>(0x80 | (code & 0x3F)));
  } else {
    out.push_back(static_cast<char>(0xF0 | (code >> 18)));
    out.push_back(static_cast<char>(0x80 | ((code >> 12) & 0x3F)));
    out.push_back(static_cast<char>(0x80 | ((code >> 6) & 0x3F)));
    out.push_back(static_cast<char>(0x80 | (code & 0x3F)));
  }
}

std::size_t countCharacters(std::string_view text) {
  std::size_t count = 0;
  for (std::size_t at = 0; at < text.size(); ++count) at += decodeAt(text, at).bytes;
  return count;
}

std::size_t byteOffset(std::string_view text, std::size_t index) {
  std::size_t at = 0;
  for (; index > 0 && at < text.size(); --index) at += decodeAt(text, at).bytes;
  return at;
}

std::size_t characterBefore(std::string_view text, std::size_t end) {
  for (std::size_t back = 2; back <= 4 && back <= end; ++back)
    if (decodeAt(text, end - back).bytes == back) return end - back;
  return end - 1;
}

std::size_t findBytes(std::string_view text, std::string_view needle, std::size_t from) {
  if (from > text.size()) return std::string_view::npos;
  if (needle.empty()) return from;
  // memmem is linear whatever the needle; std::string::find is not.
  const void* found = memmem(text.data() + from, text.size() - from, needle.data(), needle.size());
  return found == nullptr ? std::string_view::npos : static_cast<std::size_t>(static_cast<const char*>(found) - text.data());
}

}  // namespace sluice::jinja
