#include "core/run/reasoning_budget.h"

#include <limits>

#include "core/base/check.h"

namespace sluice {

const char* nameOf(ThinkingClose who) {
  switch (who) {
    case ThinkingClose::Never: return "never";
    case ThinkingClose::Model: return "model";
    case ThinkingClose::Budget: return "budget";
    case ThinkingClose::Guard: return "guard";
  }
  UNREACHABLE();
}

// The budget is of the whole answer: a thought that reopens gets what is left.
void ReasoningBudget::open() {
  thinking_ = true;
  closed_by_ = ThinkingClose::Never;
  if (options_.tokens >= 0 && tokens_ >= options_.tokens) closeNow(ThinkingClose::Budget);
}

void ReasoningBudget::closeNow(ThinkingClose who) {
  if (!thinking_ || closing() || !options_.close) return;
  closing_by_ = who;
  // Nothing was thought yet: there is nothing to round off.
  said_ = (tokens_ == 0) ? options_.message.size() : 0;
}

std::optional<TokenId> ReasoningBudget::forced() const {
  if (!thinking_ || !closing()) return std::nullopt;
  return said_ < options_.message.size() ? options_.message[said_] : *options_.close;
}

void ReasoningBudget::push(TokenId id) {
  if (!thinking_) return;
  const bool forced_one = closing();
  if (id == options_.close && (!forced_one || said_ >= options_.message.size())) {
    closed_by_ = forced_one ? closing_by_ : ThinkingClose::Model;
    if (forced_one) ++forced_closes_;
    closing_by_ = ThinkingClose::Never;
    thinking_ = false;
    return;
  }
  if (forced_one) {
    ++said_;
    return;
  }
  ++tokens_;
  if (options_.tokens >= 0 && tokens_ >= options_.tokens) closeNow(ThinkingClose::Budget);
}

bool ReasoningBudget::inSoftPhase() const {
  return thinking_ && !closing() && options_.tokens > 0 && options_.close && tokens_ * 10 >= options_.tokens * 9;
}

int ReasoningBudget::room() const {
  if (!thinking_ || options_.tokens < 0 || !options_.close) return std::numeric_limits<int>::max();
  return closing() ? 0 : options_.tokens - tokens_;
}

}  // namespace sluice
