// Goal:   penalties do what their definition says, on the window that it names, and nothing when neutral.
// Method: small vocabularies and hand-computed logits.

#include "core/run/penalties.h"

#include <gtest/gtest.h>

namespace sluice {
namespace {

std::vector<float> applied(const PenaltyOptions& options, std::vector<std::uint32_t> prompt, std::vector<std::uint32_t> output, std::vector<float> logits) {
  Penalties p(options, int(logits.size()), 100000);
  for (const auto id : prompt) p.pushPrompt(TokenId(id));
  for (const auto id : output) p.pushOutput(TokenId(id));
  p.apply(logits);
  return logits;
}

TEST(Penalties, LeaveLogitsAloneWhenNeutral) {
  const std::vector<float> logits = {1, -2, 3.25f};
  EXPECT_EQ(applied({}, {0, 1}, {2, 2}, logits), logits);
}

TEST(Penalties, RepetitionLooksAtPromptAndOutput_OnceForEachToken) {
  PenaltyOptions o;
  o.repetition = 2.0;
  EXPECT_EQ(applied(o, {0, 0}, {1, 1, 1}, {4, -4, 4, 0}), (std::vector<float>{2, -8, 4, 0}));
}

TEST(Penalties, FrequencyAndPresenceLookAtTheOutputAlone) {
  PenaltyOptions o;
  o.frequency = 0.5;
  o.presence = 0.25;
  EXPECT_EQ(applied(o, {0, 0}, {1, 1, 2}, {1, 1, 1, 1}), (std::vector<float>{1, -0.25f, 0.25f, 1}));
}

TEST(Penalties, DryGrowsWithTheMatchThatATokenWouldProlong) {
  PenaltyOptions o;
  o.dry_multiplier = 1.0;
  o.dry_base = 2.0;
  o.dry_allowed_length = 2;
  // ... 1 2 3 4 ... 1 2 3: token 4 would prolong a match of 3, 1 * 2^(3-2).
  EXPECT_EQ(applied(o, {1, 2, 3, 4, 0}, {1, 2, 3}, {0, 0, 0, 0, 0}), (std::vector<float>{0, 0, 0, 0, -2}));
  // A match of 2 costs the multiplier, one of 1 nothing.
  EXPECT_EQ(applied(o, {7, 2, 3, 4, 0}, {1, 2, 3}, {0, 0, 0, 0, 0, 0, 0, 0}), (std::vector<float>{0, 0, 0, 0, -1, 0, 0, 0}));
  EXPECT_EQ(applied(o, {7, 6, 3, 4, 0}, {1, 2, 3}, {0, 0, 0, 0, 0, 0, 0, 0}), (std::vector<float>{0, 0, 0, 0, 0, 0, 0, 0}));
  // Matches do not reach across a breaker: a block of lines is invisible to DRY (the loop guard sees it).
  o.dry_breakers = {TokenId(2)};
  EXPECT_EQ(applied(o, {1, 2, 3, 4, 0}, {1, 2, 3}, {0, 0, 0, 0, 0}), (std::vector<float>{0, 0, 0, 0, 0}));
}

TEST(Penalties, DryForgetsWhatLeftItsWindow) {
  PenaltyOptions o;
  o.dry_multiplier = 1.0;
  std::vector<std::uint32_t> output = {1, 2, 3, 4};
  for (std::uint32_t i = 0; i < 2 * Penalties::kDryWindow; ++i) output.push_back(10 + i);
  output.insert(output.end(), {1, 2, 3});
  const std::vector<float> logits(10 + 2 * Penalties::kDryWindow, 0.0f);
  EXPECT_EQ(applied(o, {}, output, logits)[4], 0.0f);
  output.erase(output.begin() + 4, output.end() - 3);  // near enough, it would have counted
  EXPECT_LT(applied(o, {}, output, logits)[4], 0.0f);
}

TEST(Penalties, BiasIsAddedLast_AndCanForbid) {
  PenaltyOptions o;
  o.bias = {{TokenId(0), 1.5}, {TokenId(1), -100.0}};
  const std::vector<float> got = applied(o, {}, {}, {1, 50, 2});
  EXPECT_EQ(got[0], 2.5f);
  EXPECT_LT(got[1], -1e29f);
  EXPECT_EQ(got[2], 2.0f);
}

TEST(Penalties, RefusesByNameWhatMakesNoSense) {
  const auto fault = [](auto change) {
    PenaltyOptions o;
    change(o);
    const Result<Done> checked = checkPenalties(o, 100);
    return checked.ok() ? std::string("accepted") : checked.error().what;
  };
  EXPECT_EQ(fault([](PenaltyOptions&) {}), "accepted");
  EXPECT_NE(fault([](PenaltyOptions& o) { o.repetition = 0; }).find("repetition_penalty"), std::string::npos);
  EXPECT_NE(fault([](PenaltyOptions& o) { o.frequency = 3; }).find("frequency_penalty"), std::string::npos);
  EXPECT_NE(fault([](PenaltyOptions& o) { o.presence = -3; }).find("presence_penalty"), std::string::npos);
  EXPECT_NE(fault([](PenaltyOptions& o) { o.dry_multiplier = -1; }).find("dry_multiplier"), std::string::npos);
  EXPECT_NE(fault([](PenaltyOptions& o) { o.dry_base = 0.5; }).find("dry_base"), std::string::npos);
  EXPECT_NE(fault([](PenaltyOptions& o) { o.bias = {{TokenId(100), 1.0}}; }).find("token 100"), std::string::npos);
}

}  // namespace
}  // namespace sluice
