// Goal:   our own elementary functions are as good as their contract, over their whole range.
// Method: against the C library in long double; the same check must refuse a value that is off by a few ulp.

#include "core/base/exact_math.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/base/rng.h"

namespace sluice {
namespace {

constexpr int kDraws = 200000;

TEST(ExactMath, ExpIsWithin1e15_AndEndsCleanly) {
  Rng rng(1);
  double worst = 0;
  for (int i = 0; i < kDraws; ++i) {
    const double x = (rng.uniform() - 0.5) * 1400;
    worst = std::max(worst, double(fabsl((static_cast<long double>(exactExp(x)) - expl(x)) / expl(x))));
  }
  EXPECT_LT(worst, 1e-15);
  EXPECT_GT(worst, 0);  // the comparison sees rounding at all
  EXPECT_EQ(exactExp(0.0), 1.0);
  EXPECT_EQ(exactExp(-740.0), 85 * 0x1p-1074);  // e^-740 is 84.78 of the smallest numbers
  EXPECT_EQ(exactExp(-800.0), 0.0);
  EXPECT_EQ(exactExp(800.0), std::numeric_limits<double>::infinity());
  EXPECT_TRUE(std::isnan(exactExp(std::nan(""))));
}

TEST(ExactMath, FloatExpIsWithinTwoUlp) {
  Rng rng(2);
  double worst = 0;
  for (int i = 0; i < kDraws; ++i) {
    const auto x = float((rng.uniform() - 0.5) * 170);
    const double want = std::exp(double(x));
    const auto near = float(want);
    worst = std::max(worst, std::fabs(double(exactExp(x)) - want) / double(std::nextafter(near, 3e38f) - near));
  }
  EXPECT_LT(worst, 2.0);
  EXPECT_GT(worst, 0.4);
  EXPECT_EQ(exactExp(-110.0f), 0.0f);
  EXPECT_EQ(exactExp(89.0f), std::numeric_limits<float>::infinity());
}

TEST(ExactMath, LogAndPowAreWithinTheirContract) {
  Rng rng(3);
  double worst_log = 0, worst_pow = 0;
  for (int i = 0; i < kDraws; ++i) {
    const double x = std::exp((rng.uniform() - 0.5) * 1400);
    const long double want = logl(x);
    worst_log = std::max(worst_log, double(fabsl(exactLog(x) - want) / std::max(fabsl(want), 1.0L)));
    const double base = 1 + rng.uniform() * 1e7, exponent = -rng.uniform();
    const long double power = powl(base, exponent);
    worst_pow = std::max(worst_pow, double(fabsl((exactPow(base, exponent) - power) / power)) / (1 + std::fabs(exponent * std::log(base))));
  }
  EXPECT_LT(worst_log, 1e-15);
  EXPECT_LT(worst_pow, 1e-15);
  EXPECT_EQ(exactLog(1.0), 0.0);
  EXPECT_EQ(exactLog(0.0), -std::numeric_limits<double>::infinity());
  EXPECT_TRUE(std::isnan(exactLog(-1.0)));
  EXPECT_NEAR(exactLog(5e-324), -744.4400719213812, 1e-12);
}

TEST(ExactMath, SineAndCosineHoldUpToAMillionRadians) {
  Rng rng(4);
  double worst = 0;
  for (int i = 0; i < kDraws; ++i) {
    const double angle = (rng.uniform() - 0.25) * (i % 2 == 0 ? 1e6 : 10.0);
    const SinCos got = exactSinCos(angle);
    worst = std::max({worst, double(fabsl(got.sine - sinl(angle))), double(fabsl(got.cosine - cosl(angle)))});
  }
  EXPECT_LT(worst, 1e-15);
  EXPECT_EQ(exactSinCos(0.0).sine, 0.0);
  EXPECT_EQ(exactSinCos(0.0).cosine, 1.0);
}

}  // namespace
}  // namespace sluice
