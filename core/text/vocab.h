#pragma once
// A tokenizer's table of ids: what bytes each stands for, and back.

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/base/ids.h"
#include "core/base/result.h"
#include "core/text/json_document.h"

namespace sluice {

/// Bytes to ids and back. Built once, then read from any thread.
class Vocabulary {
 public:
  /// The model's words as the file spells them (byte alphabet), by spelling; used while reading only. Views into the document.
  using Spellings = std::unordered_map<std::string_view, TokenId>;

  /// Reads `model.vocab`. `added_count`: how many more tokens the file adds, which may explain gaps in the ids.
  /// errors  Corrupt: an id that is no id, is there twice or leaves most of the table empty; a word that is there twice; a byte of UTF-8 without a word
  static Result<Vocabulary> read(const JsonNode& vocab, std::size_t added_count, Spellings& spellings);

  /// Names `id`, which nothing names yet or the same content does, for an added token; its bytes are `content`.
  void add(TokenId id, std::string_view content);
  /// True if the model or add() named `id`.
  bool names(TokenId id) const { return id.value() < spans_.size() && spans_[id.value()].named; }

  std::string_view bytesOf(TokenId id) const {
    if (id.value() >= spans_.size()) return {};
    const Span& s = spans_[id.value()];
    return std::string_view(bytes_).substr(s.begin, s.length);
  }
  /// The id of the word with exactly these bytes.
  std::optional<TokenId> find(std::string_view bytes) const;
  /// The word of one byte that UTF-8 text can hold.
  TokenId byteToken(unsigned char byte) const { return byte_tokens_[byte]; }
  bool isByteToken(TokenId id) const { return names(id) && std::find(byte_tokens_.begin(), byte_tokens_.end(), id) != byte_tokens_.end(); }
  /// One above the largest id.
  std::size_t size() const { return spans_.size(); }
  /// Ids below size() that name nothing.
  std::size_t holes() const;

 private:
  struct Span {
    std::uint64_t begin : 40 = 0;
    std::uint64_t length : 23 = 0;
    std::uint64_t named : 1 = 0;
  };
  static_assert(sizeof(Span) == 8, "one word an id");
  void name(TokenId id, std::string_view bytes);
  void index(TokenId id);

  std::string bytes_;
  std::vector<Span> spans_;
  std::vector<std::uint32_t> slots_;  // open addressing by the bytes' hash; id + 1, 0 is empty
  std::array<TokenId, 256> byte_tokens_{};
};

}  // namespace sluice
