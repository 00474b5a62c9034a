#pragma once
// Which tokens a grammar allows next. Works on the bytes of tokens, so that a token may span several grammar symbols.

#include <cstdint>
#include <list>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/base/ids.h"
#include "core/run/grammar/grammar.h"

namespace sluice {

/// The vocabulary in byte order. Built once for a tokenizer; immutable.
class TokenOrder {
 public:
  /// `texts[id]` are the bytes of token `id`; tokens without bytes (and added tokens, which the caller passes as empty) never match.
  explicit TokenOrder(std::span<const std::string_view> texts);
  int vocabulary() const { return vocabulary_; }

 private:
  friend class TokenMask;
  struct Entry {
    std::string text;
    std::uint32_t id;
    std::uint32_t shared;  // bytes shared with the entry before
  };
  std::vector<Entry> entries_;
  int vocabulary_ = 0;
};

/// Masks for one grammar, remembered by state: inside a string the same one serves for thousands of steps.
class TokenMask {
 public:
  explicit TokenMask(const TokenOrder& order) : order_(&order) {}
  /// allowed[id] is 1 for each token that may follow. [vocabulary]; valid until the next call.
  std::span<const std::uint8_t> allowed(const GrammarState& state);

  static constexpr std::size_t kRemembered = 64;

 private:
  void compute(const GrammarState& state, std::vector<std::uint8_t>& allowed) const;
  const TokenOrder* order_;
  std::list<std::pair<std::uint64_t, std::vector<std::uint8_t>>> recent_;  // newest first
  std::unordered_map<std::uint64_t, decltype(recent_)::iterator> by_state_;
};

}  // namespace sluice
