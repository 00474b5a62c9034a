// Goal:   our own elementary functions are as good as their contract, over their whole range.
// Method: against the C library in long double; the same check must refuse a value that is off by a few ulp.

#include "core/base/exact_math.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
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

constexpr double kBound = 1e-15;

double relativeError(double got, long double want) {
  if (got == double(want)) return 0.0;
  return double(std::fabs((static_cast<long double>(got) - want) / want));
}

TEST(ExactSinCos, IsRightForEveryAngleOfAMillionPositions) {
  Rng rng(1);
  double worst = 0.0;
  for (int i = 0; i < 400000; ++i) {
    // Positions up to a million times frequencies down to 1e-7, and whole positions (frequency 1).
    const double angle = i % 2 == 0 ? double(rng.below(1000001)) : double(rng.below(1000001)) * std::pow(10.0, -7.0 * rng.uniform()) * (i % 4 == 1 ? 1 : -1);
    const SinCos got = exactSinCos(angle);
    worst = std::fmax(worst, relativeError(got.sine, std::sin(static_cast<long double>(angle))));
    worst = std::fmax(worst, relativeError(got.cosine, std::cos(static_cast<long double>(angle))));
  }
  EXPECT_LT(worst, kBound);
  EXPECT_GT(worst, 1e-17) << "an error of nothing at all means that nothing was compared";
  std::printf("sin, cos: worst relative error %.3g\n", worst);
}

TEST(ExactSinCos, KeepsItsPrecision_NearMultiplesOfHalfPi) {
  for (int k = 1; k < 2000; ++k) {
    const double angle = double(k) * 1.5707963267948966;
    const SinCos got = exactSinCos(angle);
    // The C library reduces with its own long pi; 1e-12 of a number near 1e-13 is still far finer than what one word of pi could give.
    EXPECT_LT(relativeError(got.sine, std::sin(static_cast<long double>(angle))), 1e-6);
    EXPECT_LT(relativeError(got.cosine, std::cos(static_cast<long double>(angle))), 1e-6);
  }
}

TEST(ExactSinCos, KnowsItsEnds) {
  EXPECT_EQ(exactSinCos(0.0).sine, 0.0);
  EXPECT_EQ(exactSinCos(0.0).cosine, 1.0);
  EXPECT_TRUE(std::isnan(exactSinCos(std::numeric_limits<double>::quiet_NaN()).sine));
  EXPECT_LT(relativeError(exactSinCos(0x1p28).sine, std::sin(0x1p28L)), kBound);
  EXPECT_DEATH(exactSinCos(0x1p29), "CHECK failed");
}

TEST(ExactExp, IsRightFromUnderflowToOverflow) {
  Rng rng(2);
  double worst = 0.0;
  for (int i = 0; i < 400000; ++i) {
    const double x = i % 2 == 0 ? rng.uniform() * 1417.0 - 708.0 : rng.uniform() * 2.0 - 1.0;
    worst = std::fmax(worst, relativeError(exactExp(x), std::exp(static_cast<long double>(x))));
  }
  EXPECT_LT(worst, kBound);
  EXPECT_GT(worst, 1e-17);
  std::printf("exp: worst relative error %.3g\n", worst);
  for (double x = -750.0; x < -708.0; x += 0.01) {  // subnormal results: half a unit and a little of the smallest step
    EXPECT_NEAR(exactExp(x) / 0x1p-1074, double(std::exp(static_cast<long double>(x)) / 0x1p-1074L), 1.0 + exactExp(x) / 0x1p-1074 * kBound) << x;
  }
  EXPECT_EQ(exactExp(0.0), 1.0);
  EXPECT_EQ(exactExp(-800.0), 0.0);
  EXPECT_TRUE(std::isinf(exactExp(709.79)));
  EXPECT_TRUE(std::isnan(exactExp(std::numeric_limits<double>::quiet_NaN())));
}

TEST(ExactLog, IsRightForEveryExponent) {
  Rng rng(3);
  double worst = 0.0;
  for (int i = 0; i < 400000; ++i) {
    const double x = i % 2 == 0 ? std::ldexp(0.5 + rng.uniform(), int(rng.below(2090)) - 1068) : 0.7 + rng.uniform() * 0.7;
    worst = std::fmax(worst, relativeError(exactLog(x), std::log(static_cast<long double>(x))));
  }
  EXPECT_LT(worst, kBound);
  EXPECT_GT(worst, 1e-17);
  std::printf("log: worst relative error %.3g\n", worst);
  EXPECT_EQ(exactLog(1.0), 0.0);
  EXPECT_TRUE(std::isinf(exactLog(0.0)));
  EXPECT_TRUE(std::isnan(exactLog(-1.0)));
}

TEST(ExactPow, IsRightForRopeBases_AndForAnyOther) {
  double worst = 0.0;
  for (const double theta : {1e4, 5e5, 1e6, 8e6, 1e7}) {
    for (const int pairs : {16, 32, 64, 96}) {
      for (int j = 0; j < pairs; ++j) {
        const double exponent = -double(j) / double(pairs);
        worst = std::fmax(worst, relativeError(exactPow(theta, exponent), std::pow(static_cast<long double>(theta), static_cast<long double>(exponent))));
      }
    }
  }
  Rng rng(4);
  for (int i = 0; i < 20000; ++i) {
    const double base = std::ldexp(0.5 + rng.uniform(), int(rng.below(200)) - 100), exponent = rng.uniform() * 16.0 - 8.0;
    worst = std::fmax(worst, relativeError(exactPow(base, exponent), std::pow(static_cast<long double>(base), static_cast<long double>(exponent))));
  }
  EXPECT_LT(worst, kBound);
  EXPECT_GT(worst, 1e-17);
  std::printf("pow: worst relative error %.3g\n", worst);
  EXPECT_EQ(exactPow(2.0, 10.0), 1024.0);
  EXPECT_EQ(exactPow(0.0, 2.0), 0.0);
  EXPECT_EQ(exactPow(0.0, 0.0), 1.0);
  EXPECT_TRUE(std::isinf(exactPow(0.0, -1.0)));
  EXPECT_TRUE(std::isnan(exactPow(-2.0, 2.0)));
  EXPECT_TRUE(std::isinf(exactPow(2.0, 1e300)));
}

}  // namespace
}  // namespace sluice
