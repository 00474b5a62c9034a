#pragma once
// Ids to text, never half a character.

#include <string>
#include <string_view>

#include "core/base/ids.h"
#include "core/text/tokenizer.h"

namespace sluice {

/// The WHATWG UTF-8 decoder over the bytes of tokens: half a character waits, an ill-formed maximal subpart becomes U+FFFD at the byte that
/// proves it. A value: copying it copies its state.
class Detokenizer {
 public:
  explicit Detokenizer(const Tokenizer& tokenizer) : tokenizer_(&tokenizer) {}
  /// Appends to `out` all that may be said after `id`.
  void push(TokenId id, std::string& out);
  void pushBytes(std::string_view bytes, std::string& out);
  /// Appends what the end adds (U+FFFD for a half character) and starts afresh.
  void flush(std::string& out);

 private:
  const Tokenizer* tokenizer_;
  unsigned char pending_[4] = {};
  int pending_count_ = 0;
};

}  // namespace sluice
