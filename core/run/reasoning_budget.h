#pragma once
// How long a thought may be, and how it is closed when it is too long. Counts accepted tokens; proposes ids, never touches logits. A fold over
// the ids: a value that can be copied.

#include <optional>
#include <span>
#include <vector>

#include "core/base/ids.h"

namespace sluice {

/// Who closed the thought.
enum class ThinkingClose : std::uint8_t { Never, Model, Budget, Guard };
const char* nameOf(ThinkingClose who);

struct ReasoningBudgetOptions {
  int tokens = -1;                       // -1: no cap; 0: close at once
  std::vector<TokenId> message;          // said before the close; not counted against the budget
  std::optional<TokenId> close;          // the special id of the closing tag; absent: nothing can be forced
};

class ReasoningBudget {
 public:
  explicit ReasoningBudget(ReasoningBudgetOptions options) : options_(std::move(options)) {}

  /// A thought begins (again).
  void open();
  /// An accepted token of the thought; `id` may be the close itself.
  void push(TokenId id);
  /// The id that must come next, whatever the model says; the close after the message. Absent: the model is free.
  std::optional<TokenId> forced() const;
  /// Starts closing now (the loop guard asked).
  void closeNow(ThinkingClose who);
  /// In the last tenth the model's own close is taken as soon as it is among the likeliest few at the end of a sentence.
  static constexpr int kLikelyRank = 4;  // ranks 0 to 3
  bool inSoftPhase() const;

  /// Free tokens of the thought (the forced message and close are not among them).
  int tokens() const { return tokens_; }
  int budget() const { return options_.tokens; }
  /// Tokens that a draft may still add before the cap; a large number without one.
  int room() const;
  bool thinking() const { return thinking_; }
  ThinkingClose closedBy() const { return closed_by_; }
  /// Thoughts closed by force so far: the breaker must not arm itself into a cycle.
  int forcedCloses() const { return forced_closes_; }

 private:
  bool closing() const { return closing_by_ != ThinkingClose::Never; }
  ReasoningBudgetOptions options_;
  bool thinking_ = false;
  int tokens_ = 0;
  std::size_t said_ = 0;  // of the message, while closing
  ThinkingClose closing_by_ = ThinkingClose::Never, closed_by_ = ThinkingClose::Never;
  int forced_closes_ = 0;
};

}  // namespace sluice
