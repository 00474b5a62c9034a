#pragma once
// Text that knows who wrote each byte: the template (markup) or the request. Every string operation of the engine works on it.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::jinja {

/// UTF-8 with an author a byte. Most texts have one author: then no marks are stored.
class Text {
 public:
  Text() = default;
  Text(std::string bytes, bool markup) : bytes_(std::move(bytes)), markup_(markup) {}

  const std::string& bytes() const { return bytes_; }
  std::string_view view() const { return bytes_; }
  std::size_t size() const { return bytes_.size(); }
  bool empty() const { return bytes_.empty(); }
  /// True when the byte at `at` was written by the template.
  bool markupAt(std::size_t at) const { return marks_.empty() ? markup_ : marks_[at] != 0; }
  /// True when any byte came from the request.
  bool anyClient() const;

  void append(const Text& more);
  void append(std::string_view more, bool markup);
  /// Bytes [from, from + count) of `source`.
  void append(const Text& source, std::size_t from, std::size_t count);
  Text slice(std::size_t from, std::size_t count) const;
  /// Bytes that this text holds, marks included.
  std::size_t weight() const { return bytes_.size() + marks_.size(); }

 private:
  void spreadMarks();

  std::string bytes_;
  std::string marks_;    // one byte a byte, or empty when `markup_` holds for all
  bool markup_ = false;
};

/// A code point and its length in bytes. A byte that starts no well-formed sequence counts as one character, `code` 0xFFFD.
struct CodePoint {
  char32_t code = 0;
  std::uint32_t bytes = 1;
};
CodePoint decodeAt(std::string_view text, std::size_t at);
void appendUtf8(std::string& out, char32_t code);
/// Characters, as Python's len counts them.
std::size_t countCharacters(std::string_view text);
/// Byte offset of character `index`, which may be the length.
std::size_t byteOffset(std::string_view text, std::size_t index);
/// Start of the character that ends before `end` > 0.
std::size_t characterBefore(std::string_view text, std::size_t end);
/// First place of `needle` at or after `from`, or npos; linear time.
std::size_t findBytes(std::string_view text, std::string_view needle, std::size_t from);

}  // namespace sluice::jinja
