#pragma once
// What ends a text: ids, and strings that may arrive in pieces.

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/ids.h"
#include "core/base/result.h"

namespace sluice {

constexpr std::size_t kStopTextsMax = 64;
constexpr std::size_t kStopTextBytesMax = 4096;

/// errors  BadRequest: an empty string, one longer than kStopTextBytesMax, more than kStopTextsMax of them
Result<Done> checkStopTexts(std::span<const std::string> texts);

/// The sorted union.
std::vector<TokenId> unionOf(std::span<const TokenId> a, std::span<const TokenId> b);

/// Watches text for the first of several strings, however it is cut into pieces. Holds back the longest suffix that might still become one of
/// them, and releases it when it cannot. A value: copying it copies its state.
class StopTexts {
 public:
  explicit StopTexts(std::vector<std::string> texts) : texts_(std::move(texts)) {}

  /// Takes `piece`; appends to `out` all that may be shown. True when a stop string was completed: the text before it has been appended, it and
  /// what follows are dropped, and matched() names it. The one whose last byte comes first wins, whatever the pieces; of those that end there, the longest.
  bool push(std::string_view piece, std::string& out);
  /// Appends what was held back: no more text comes.
  void flush(std::string& out);
  /// The string that ended the text.
  const std::string& matched() const { return matched_; }
  std::string_view held() const { return held_; }

 private:
  std::vector<std::string> texts_;
  std::string held_, matched_;
};

}  // namespace sluice
