#pragma once
// What each token of a vocabulary is to the loop guard: a word, a number, blanks or punctuation. Made once for a tokenizer.

#include <cstdint>
#include <string_view>
#include <vector>

#include "core/base/ids.h"
#include "core/run/loop_guard.h"
#include "core/text/tokenizer.h"

namespace sluice {

struct ClassifiedToken {
  TokenClass token_class = TokenClass::Word;
  std::int64_t number = -1;  // of a Number with at most 9 digits
};

/// From the bytes of one token. Pieces of characters count as words.
ClassifiedToken classifyToken(std::string_view bytes);

/// Immutable; any thread.
class TokenClasses {
 public:
  explicit TokenClasses(const Tokenizer& tokenizer);
  /// Ids that name nothing (padding of the vocabulary) are words.
  ClassifiedToken at(TokenId id) const { return id.value() < tokens_.size() ? tokens_[id.value()] : ClassifiedToken{}; }

 private:
  std::vector<ClassifiedToken> tokens_;
};

}  // namespace sluice
