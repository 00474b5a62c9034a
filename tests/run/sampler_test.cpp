// Goal:   the same logits, options, seed and position give the token that the rules of core/run/sampler.h say, everywhere.
// Method: tokens computed by an independent program (Python, doubles, math.exp): weights exp((l - max) / T); order by falling weight, then rising id; the
//         first k; the shortest prefix whose sum reaches p of theirs; those of at least m times the best; then the first whose running sum exceeds
//         u * sum, u = mix64(mix64(mix64(seed) ^ position)) >> 11, times 2^-53.

#include "core/run/sampler.h"

#include <array>
#include <limits>
#include <map>

#include <gtest/gtest.h>

namespace sluice {
namespace {

const std::vector<float> kLogits{1.0f, 3.0f, 2.0f, 3.0f, -1.0f, 0.5f, 2.0f, 0.0f};

struct Case {
  SamplingOptions options;
  std::array<std::uint32_t, 16> tokens;  // at positions 0 .. 15, seed 42
};

SamplingOptions with(double temperature, int top_k, double top_p, double min_p) { return {temperature, top_k, top_p, min_p, 42}; }

const Case kCases[] = {
    {with(1.0, 0, 1.0, 0.0), {3, 3, 1, 1, 0, 2, 6, 3, 2, 1, 6, 3, 1, 3, 1, 3}},
    {with(0.5, 0, 1.0, 0.0), {1, 3, 1, 1, 2, 3, 2, 1, 3, 1, 3, 3, 1, 3, 1, 3}},
    {with(2.0, 0, 1.0, 0.0), {3, 2, 1, 1, 5, 6, 5, 3, 6, 1, 0, 3, 3, 3, 1, 2}},
    {with(1.0, 2, 1.0, 0.0), {1, 3, 1, 1, 3, 3, 3, 1, 3, 1, 3, 1, 1, 1, 1, 1}},
    {with(1.0, 3, 1.0, 0.0), {1, 3, 1, 1, 2, 3, 2, 1, 3, 1, 3, 3, 1, 3, 1, 3}},
    {with(1.0, 0, 0.7, 0.0), {1, 3, 1, 1, 2, 3, 2, 1, 3, 1, 3, 3, 1, 3, 1, 3}},
    {with(1.0, 0, 0.95, 0.0), {3, 3, 1, 1, 6, 2, 6, 1, 3, 1, 2, 3, 1, 3, 1, 3}},
    {with(1.0, 0, 1.0, 0.3), {3, 3, 1, 1, 6, 3, 6, 1, 3, 1, 2, 3, 1, 3, 1, 3}},
    {with(1.5, 4, 0.9, 0.1), {3, 3, 1, 1, 6, 2, 6, 3, 2, 1, 2, 3, 1, 3, 1, 3}},
    {with(1.0, 1, 1.0, 0.0), {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1}},
    {with(0.7, 0, 0.01, 0.0), {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1}},
};

TEST(Sampler, DrawsWhatTheRulesSay_ForEveryCombination) {
  for (const Case& c : kCases) {
    SCOPED_TRACE(testing::Message() << "T " << c.options.temperature << " k " << c.options.top_k << " p " << c.options.top_p << " m " << c.options.min_p);
    Sampler sampler(c.options, int(kLogits.size()));
    for (std::size_t position = 0; position < c.tokens.size(); ++position) {
      EXPECT_EQ(sampler.sample(kLogits, position).value().value(), c.tokens[position]) << "position " << position;
    }
  }
}

TEST(Sampler, DrawDependsOnPositionAndSeedAlone_NotOnWhatWasDrawnBefore) {
  Sampler forwards(with(1, 0, 1, 0), int(kLogits.size())), once(with(1, 0, 1, 0), int(kLogits.size()));
  for (std::uint64_t position = 0; position < 9; ++position) (void)forwards.sample(kLogits, position).value();
  EXPECT_EQ(forwards.sample(kLogits, 9).value(), once.sample(kLogits, 9).value());
  // Negative control: another seed draws otherwise somewhere.
  SamplingOptions other = with(1, 0, 1, 0);
  other.seed = 43;
  Sampler reseeded(other, int(kLogits.size()));
  int differences = 0;
  for (std::uint64_t position = 0; position < 16; ++position)
    differences += reseeded.sample(kLogits, position).value() == once.sample(kLogits, position).value() ? 0 : 1;
  EXPECT_GT(differences, 0);
}

TEST(Sampler, TemperatureZeroTakesTheLargest_TiesToTheLowerId) {
  Sampler greedy(with(0, 0, 1, 0), int(kLogits.size()));
  EXPECT_EQ(greedy.sample(kLogits, 0).value(), TokenId(1));
  std::vector<float> later = kLogits;
  later[3] = 3.5f;
  EXPECT_EQ(greedy.sample(later, 0).value(), TokenId(3));
}

TEST(Sampler, TopKKeepsExactlyKOfEqualLogits_TheLowerIds) {
  const std::vector<float> flat(10, 0.25f);
  Sampler sampler(with(1, 3, 1, 0), int(flat.size()));
  std::map<std::uint32_t, int> seen;
  for (std::uint64_t position = 0; position < 400; ++position) ++seen[sampler.sample(flat, position).value().value()];
  ASSERT_EQ(seen.size(), 3u);
  EXPECT_TRUE(seen.contains(0) && seen.contains(1) && seen.contains(2));
}

TEST(Sampler, FrequenciesFollowTheProbabilities) {
  // Two tokens three to one: of 4,000 draws 3,000 +- 27 (one sigma) are the first; five sigma are allowed.
  const std::vector<float> logits{0.0f, -1.0986122887f};
  Sampler sampler(with(1, 0, 1, 0), 2);
  int first = 0;
  for (std::uint64_t position = 0; position < 4000; ++position) first += sampler.sample(logits, position).value() == TokenId(0) ? 1 : 0;
  EXPECT_NEAR(first, 3000, 137);
}

TEST(Sampler, TokensOfNoWeightAreNeverDrawn) {
  std::vector<float> logits(64, -1000.0f);
  logits[40] = 5.0f;
  Sampler sampler(with(1, 0, 1, 0), int(logits.size()));
  for (std::uint64_t position = 0; position < 200; ++position) EXPECT_EQ(sampler.sample(logits, position).value(), TokenId(40));
}

TEST(Sampler, NanAndInfinityAreErrors_NeverTokenZero) {
  for (const float bad : {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity(), -std::numeric_limits<float>::infinity()}) {
    for (const double temperature : {0.0, 1.0}) {
      std::vector<float> logits = kLogits;
      logits[5] = bad;
      Sampler sampler(with(temperature, 0, 1, 0), int(logits.size()));
      const Result<TokenId> drawn = sampler.sample(logits, 7);
      ASSERT_FALSE(drawn.ok());
      EXPECT_EQ(drawn.error().code, Errc::Numeric);
      EXPECT_NE(drawn.error().what.find("token 5"), std::string::npos) << drawn.error().what;
    }
  }
}

TEST(SamplingOptions, RefuseWhatMakesNoSense_ByName) {
  struct Bad {
    SamplingRequest request;
    const char* name;
  };
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const Bad bad[] = {
      {{-0.1, {}, {}, {}}, "temperature"}, {{nan, {}, {}, {}}, "temperature"}, {{101.0, {}, {}, {}}, "temperature"},
      {{{}, 0.0, {}, {}}, "top_p"},        {{{}, 1.5, {}, {}}, "top_p"},       {{{}, nan, {}, {}}, "top_p"},
      {{{}, {}, -0.5, {}}, "min_p"},       {{{}, {}, 1.01, {}}, "min_p"},      {{{}, {}, {}, -2}, "top_k"},
  };
  for (const Bad& b : bad) {
    const Result<SamplingOptions> settled = settleSampling(b.request, 1);
    ASSERT_FALSE(settled.ok()) << b.name;
    EXPECT_EQ(settled.error().code, Errc::BadRequest);
    EXPECT_NE(settled.error().what.find(b.name), std::string::npos) << settled.error().what;
  }
  const SamplingOptions neutral = settleSampling({}, 9).value();
  EXPECT_EQ(neutral.temperature, 1.0);
  EXPECT_EQ(neutral.top_k, 0);
  EXPECT_EQ(settleSampling({{}, {}, {}, -1}, 9).value().top_k, 0);
}

TEST(SamplingOptions, FlagsWinOverTheFile) {
  const SamplingRequest flags{0.5, {}, {}, 7}, file{1.0, 0.9, {}, 3};
  const SamplingRequest both = preferring(flags, file);
  EXPECT_EQ(both.temperature, 0.5);
  EXPECT_EQ(both.top_p, 0.9);
  EXPECT_EQ(both.top_k, 7);
  EXPECT_FALSE(both.min_p.has_value());
}

}  // namespace
}  // namespace sluice
