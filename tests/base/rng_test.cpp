// Goal:   chance that is seeded gives the same numbers everywhere, depends on what it says it depends on, and is spread evenly.
// Method: the SplitMix64 sequence of seed 1234567 as its author published it with the algorithm; counts in bins against their expectation.

#include "core/base/rng.h"

#include <array>
#include <cstdint>

#include <gtest/gtest.h>

namespace sluice {
namespace {

// SplitMix64 adds the golden gamma to its state before each mix; mix64 does both, so output i is mix64(seed + i * gamma).
TEST(Mix64, FollowsThePublishedSequence) {
  constexpr std::uint64_t kGamma = 0x9e3779b97f4a7c15ull;
  constexpr std::array<std::uint64_t, 5> kPublished = {6457827717110365317ull, 3203168211198807973ull, 9817491932198370423ull,
                                                       4593380528125082431ull, 16408922859458223821ull};
  for (std::uint64_t i = 0; i < kPublished.size(); ++i) EXPECT_EQ(mix64(1234567 + i * kGamma), kPublished[i]) << i;
  EXPECT_NE(mix64(1234568), kPublished[0]);  // control: the seed matters
}

TEST(UniformAt, DependsOnSeedPositionAndLane) {
  const double base = uniformAt(7, 11, 0);
  EXPECT_EQ(base, uniformAt(7, 11, 0));
  EXPECT_NE(base, uniformAt(8, 11, 0));
  EXPECT_NE(base, uniformAt(7, 12, 0));
  EXPECT_NE(base, uniformAt(7, 11, 1));
}

TEST(UniformAt, FillsTenBinsEvenly_AndStaysBelowOne) {
  constexpr int kDraws = 100000;
  std::array<int, 10> bins{};
  for (int i = 0; i < kDraws; ++i) {
    const double u = uniformAt(3, std::uint64_t(i));
    ASSERT_GE(u, 0.0);
    ASSERT_LT(u, 1.0);
    ++bins[std::size_t(u * 10)];
  }
  // The deviation of a bin is sqrt(n p (1-p)) = 95; five of them.
  for (const int count : bins) EXPECT_NEAR(count, kDraws / 10, 475);
}

TEST(RngType, RepeatsItself_AndChanceFollowsItsOdds) {
  Rng a(42), b(42), other(43);
  EXPECT_EQ(a.next(), b.next());
  EXPECT_EQ(a.next(), b.next());
  EXPECT_NE(Rng(42).next(), other.next());
  Rng rng(5);
  int hits = 0;
  for (int i = 0; i < 10000; ++i) hits += rng.chance(0.25) ? 1 : 0;
  EXPECT_NEAR(hits, 2500, 217);  // five deviations of 43.3
  for (int i = 0; i < 1000; ++i) EXPECT_LT(rng.below(7), 7u);
  EXPECT_FALSE(rng.chance(0.0));
  EXPECT_TRUE(rng.chance(1.0));
}

}  // namespace
}  // namespace sluice
