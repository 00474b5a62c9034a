// Goal:   the trace says how near an answer came to its end, and its length is bounded.
// Method: distributions whose probabilities and entropy are known in closed form; made-up histories for each story.

#include "core/run/exit_trace.h"

#include <gtest/gtest.h>

#include <cmath>

namespace sluice {
namespace {

ExitTrace traceOf(const std::vector<float>& probabilities) {
  ExitTrace trace;
  for (std::size_t i = 0; i < probabilities.size(); ++i) {
    ExitPoint p;
    p.position = int(i);
    p.probability = probabilities[i];
    trace.push(p);
  }
  return trace;
}

TEST(ExitPoint, KnowsProbabilityRankAndEntropy) {
  // Probabilities 1/2, 1/4, 1/8, 1/8: entropy 1.75 bits.
  const std::vector<float> logits = {std::log(8.0f), std::log(4.0f), std::log(2.0f), std::log(2.0f)};
  const std::vector<TokenId> exits = {TokenId(1), TokenId(3)};
  const ExitPoint p = exitPointOf(logits, exits);
  EXPECT_NEAR(p.probability, 0.375, 1e-6);
  EXPECT_EQ(p.rank, 1);
  EXPECT_NEAR(p.entropy, 1.75 * std::log(2.0), 1e-6);
  const ExitPoint none = exitPointOf(logits, {});
  EXPECT_EQ(none.probability, 0);
  EXPECT_EQ(none.rank, 4);
}

TEST(ExitTrace, TellsTheStoriesApart) {
  EXPECT_EQ(traceOf(std::vector<float>(1000, 0.001f)).story(false), ExitStory::Never);
  EXPECT_EQ(traceOf({0, 0, 0.5f, 0, 0, 0}).story(false), ExitStory::Veered);
  EXPECT_EQ(traceOf({0.2f, 0, 0.3f, 0, 0.2f, 0, 0.4f, 0}).story(false), ExitStory::Resets);
  EXPECT_EQ(traceOf({0.2f, 0.05f, 0.3f, 0.06f, 0.2f}).approaches(), 1);  // it never went far away
  EXPECT_EQ(traceOf({0.9f}).story(true), ExitStory::Ended);
}

TEST(ExitTrace, IsBounded_AndKeepsThePeaks) {
  std::vector<float> probabilities(100000, 0.0f);
  probabilities[77777] = 0.75f;
  const ExitTrace trace = traceOf(probabilities);
  EXPECT_LE(trace.points().size(), ExitTrace::kPointsMax);
  EXPECT_GE(trace.points().size() * std::size_t(trace.stride()), probabilities.size());
  bool found = false;
  for (const ExitPoint& p : trace.points()) found = found || (p.position == 77777 && p.probability == 0.75f);
  EXPECT_TRUE(found);
}

}  // namespace
}  // namespace sluice
