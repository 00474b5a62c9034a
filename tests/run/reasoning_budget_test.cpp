// Goal:   a thought is as long as it may be, is closed by the special id after the whole message, and says who closed it.
// Method: ids pushed by hand.

#include "core/run/reasoning_budget.h"

#include <gtest/gtest.h>

namespace sluice {
namespace {

constexpr TokenId kClose{9};

ReasoningBudget budgetOf(int tokens, std::vector<TokenId> message = {}) {
  ReasoningBudget b({tokens, std::move(message), kClose});
  b.open();
  return b;
}

TEST(ReasoningBudget, ForcesTheWholeMessageAndThenTheClose_AtTheCapExactly) {
  ReasoningBudget b = budgetOf(10, {TokenId(5), TokenId(9), TokenId(6)});  // the message may hold the close's id: it is said whole
  for (int i = 0; i < 10; ++i) {
    EXPECT_FALSE(b.forced());
    EXPECT_EQ(b.room(), 10 - i);
    b.push(TokenId(1));
  }
  std::vector<TokenId> said;
  while (b.forced()) {
    said.push_back(*b.forced());
    b.push(said.back());
  }
  EXPECT_EQ(said, (std::vector<TokenId>{TokenId(5), TokenId(9), TokenId(6), kClose}));
  EXPECT_FALSE(b.thinking());
  EXPECT_EQ(b.closedBy(), ThinkingClose::Budget);
  EXPECT_EQ(b.tokens(), 10);
  EXPECT_EQ(b.forcedCloses(), 1);
}

TEST(ReasoningBudget, ZeroClosesAtOnce_WithoutAMessage) {
  ReasoningBudget b = budgetOf(0, {TokenId(5)});
  EXPECT_EQ(b.forced(), kClose);
  b.push(kClose);
  EXPECT_FALSE(b.thinking());
  EXPECT_EQ(b.tokens(), 0);
}

TEST(ReasoningBudget, MinusOneNeverForces) {
  ReasoningBudget b = budgetOf(-1);
  for (int i = 0; i < 100000; ++i) b.push(TokenId(1));
  EXPECT_FALSE(b.forced());
  EXPECT_FALSE(b.inSoftPhase());
  b.push(kClose);
  EXPECT_EQ(b.closedBy(), ThinkingClose::Model);
}

TEST(ReasoningBudget, TheSoftPhaseIsTheLastTenth) {
  ReasoningBudget b = budgetOf(100);
  for (int i = 0; i < 89; ++i) b.push(TokenId(1));
  EXPECT_FALSE(b.inSoftPhase());
  b.push(TokenId(1));
  EXPECT_TRUE(b.inSoftPhase());
}

TEST(ReasoningBudget, AThoughtThatReopensGetsWhatIsLeft) {
  ReasoningBudget b = budgetOf(4);
  b.push(TokenId(1));
  b.push(TokenId(1));
  b.push(kClose);
  EXPECT_EQ(b.closedBy(), ThinkingClose::Model);
  b.open();
  b.push(TokenId(1));
  EXPECT_FALSE(b.forced());
  b.push(TokenId(1));
  EXPECT_EQ(b.forced(), kClose);
  b.push(kClose);
  b.open();
  EXPECT_EQ(b.forced(), kClose);
}

TEST(ReasoningBudget, TheGuardMayCloseEarlier) {
  ReasoningBudget b = budgetOf(-1, {TokenId(5)});
  b.push(TokenId(1));
  b.closeNow(ThinkingClose::Guard);
  EXPECT_EQ(b.forced(), TokenId(5));
  b.push(TokenId(5));
  b.push(kClose);
  EXPECT_EQ(b.closedBy(), ThinkingClose::Guard);
}

}  // namespace
}  // namespace sluice
