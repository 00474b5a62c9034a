// Goal:   the two functions that all float kernels stand on are right: fma without FMA hardware, and our exp.
// Method: fma against whole-number arithmetic; exp against long double over every exponent.

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <limits>

#include "core/base/rng.h"
#include "tests/simd/plain_kernels.h"

namespace sluice {
namespace {

__extension__ typedef __int128 Wide;
__extension__ typedef unsigned __int128 Natural;

/// A finite float as whole * 2^exponent.
struct Whole {
  std::int64_t whole;
  int exponent;
};
Whole wholeOf(float f) {
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(f), exponent = (bits >> 23) & 255u;
  const std::int64_t mantissa = std::int64_t((bits & 0x7fffffu) | (exponent != 0 ? 0x800000u : 0u));
  return {(bits >> 31) != 0u ? -mantissa : mantissa, int(exponent != 0 ? exponent : 1) - 150};
}

/// whole * 2^exponent, rounded to nearest even; whole is not 0.
float floatOf(Wide whole, int exponent) {
  const bool negative = whole < 0;
  Natural m = negative ? Natural(-whole) : Natural(whole);
  int bits = 0;
  for (Natural t = m; t != 0; t >>= 1) ++bits;
  // Keep 24 bits, or fewer where the result is subnormal; -149 is the smallest exponent.
  const int drop = std::max(bits - 24, -149 - exponent);
  if (drop > 0) {
    const Natural kept = drop > 127 ? 0 : m >> drop, rest = drop > 127 ? m : m - (kept << drop);
    const Natural half = drop > 127 ? ~Natural(0) : Natural(1) << (drop - 1);
    m = kept + ((rest > half || (rest == half && (kept & 1) != 0)) ? 1 : 0);
    exponent += drop;
  }
  const double magnitude = std::ldexp(double(std::uint64_t(m)), exponent);  // at most 25 bits: exact
  return float(negative ? -magnitude : magnitude);
}

float exactFused(float a, float b, float c) {
  const Whole x = wholeOf(a), y = wholeOf(b), z = wholeOf(c);
  Wide product = Wide(x.whole) * y.whole, addend = z.whole;
  int e = x.exponent + y.exponent, f = z.exponent;
  if (product == 0 || addend == 0) {
    if (product == 0 && addend == 0) return a * b + c;  // zeros and their signs are IEEE's own
    return product == 0 ? c : floatOf(product, e);
  }
  // Align to the smaller exponent. Where that needs too many bits, the smaller number only shows on which side of the larger the truth lies.
  const auto sign = [](Wide v) { return v < 0 ? -1 : 1; };
  if (e - f > 60) {
    product <<= 60;
    return floatOf(product + sign(addend), e - 60);
  }
  if (f - e > 90) {
    addend <<= 90;
    return floatOf(addend + sign(product), f - 90);
  }
  if (e >= f) {
    product <<= e - f;
    e = f;
  } else {
    addend <<= f - e;
  }
  return product + addend == 0 ? 0.0f : floatOf(product + addend, e);
}

std::uint32_t bitsOf(float f) { return std::bit_cast<std::uint32_t>(f); }

float anyFinite(Rng& rng) {
  for (;;) {
    const float f = std::bit_cast<float>(std::uint32_t(rng.next()));
    if (std::isfinite(f)) return f;
  }
}

TEST(FusedOne, EqualsWholeNumberArithmetic_ForRandomAndForNearlyCancellingTriples) {
  Rng rng(1);
  int wrong = 0, plain_differs = 0, subnormal = 0;
  for (int i = 0; i < 6000000; ++i) {
    float a = anyFinite(rng), b = anyFinite(rng), c = anyFinite(rng);
    switch (i % 6) {
      case 0: break;
      case 1: {  // like magnitudes
        a = float(rng.uniform() - 0.5);
        b = float(rng.uniform() - 0.5);
        c = float(rng.uniform() - 0.5);
        break;
      }
      case 2: {  // c near -a*b: cancellation
        a = float(rng.uniform() + 0.5);
        b = float(rng.uniform() + 0.5);
        c = std::bit_cast<float>(bitsOf(-(a * b)) + std::uint32_t(rng.below(5)) - 2u);
        break;
      }
      case 3: {  // half a unit of c, less or more by what no double can hold beside c: (1 + t)(1 - t) = 1 - t^2
        c = std::bit_cast<float>((std::uint32_t(rng.next()) & 0x807fffffu) | 0x3f800000u);
        const float t = float(1 + rng.below(3)) * 0x1p-23f;
        a = (1.0f + t) * (rng.chance(0.5) ? 1.0f : -1.0f);
        b = std::ldexp(1.0f - t, -24 - int(rng.below(2)));
        break;
      }
      case 4: {  // subnormal results
        a = std::ldexp(float(rng.uniform() + 0.5), -70 - int(rng.below(20)));
        b = std::ldexp(float(rng.uniform() - 0.5), -70);
        c = std::bit_cast<float>(std::uint32_t(rng.below(1u << 20)) | (std::uint32_t(rng.next()) & 0x80000000u));
        break;
      }
      default: {  // very unlike magnitudes
        a = std::ldexp(float(rng.uniform() + 0.5), int(rng.below(120)) - 60);
        b = std::ldexp(float(rng.uniform() + 0.5), int(rng.below(120)) - 60);
        break;
      }
    }
    const float want = exactFused(a, b, c), got = plain::fusedOne(a, b, c);
    if (bitsOf(got) != bitsOf(want) && ++wrong < 5) ADD_FAILURE() << std::hexfloat << a << " * " << b << " + " << c << ": " << got << ", not " << want;
    if (bitsOf(float(double(a) * double(b) + double(c))) != bitsOf(want)) ++plain_differs;
    if (want != 0.0f && std::fabs(want) < std::numeric_limits<float>::min()) ++subnormal;
  }
  EXPECT_EQ(wrong, 0);
  EXPECT_GT(plain_differs, 1000) << "the negative control: rounding twice must be seen to be wrong";
  EXPECT_GT(subnormal, 1000);
}

TEST(FusedOne, TreatsInfinityNanAndZeros_AsIeeeDoes) {
  constexpr float kInf = std::numeric_limits<float>::infinity(), kMax = std::numeric_limits<float>::max();
  EXPECT_EQ(plain::fusedOne(kMax, 2.0f, 0.0f), kInf);
  EXPECT_EQ(plain::fusedOne(kMax, 1.0f, kMax), kInf);
  EXPECT_EQ(plain::fusedOne(kMax, 2.0f, -kMax), kMax);
  EXPECT_EQ(plain::fusedOne(1.0f, 1.0f, -kInf), -kInf);
  EXPECT_TRUE(std::isnan(plain::fusedOne(kInf, 1.0f, -kInf)));
  EXPECT_TRUE(std::isnan(plain::fusedOne(0.0f, kInf, 1.0f)));
  EXPECT_EQ(bitsOf(plain::fusedOne(1.0f, 1.0f, -1.0f)), 0u);
  EXPECT_EQ(bitsOf(plain::fusedOne(-0.0f, 1.0f, -0.0f)), 0x80000000u);
  EXPECT_EQ(bitsOf(plain::fusedOne(-1e-30f, 1e-30f, 0.0f)), 0x80000000u);  // below the smallest number, and negative
}

TEST(Exponential, IsWithinTwoUlp_OverEveryExponent) {
  double worst = 0.0;
  float at = 0.0f;
  long compared = 0;
  for (std::uint32_t bits = 0; bits < 0x42d20000u; bits += 997) {  // 0 to 105, and the negative ones
    for (const float x : {std::bit_cast<float>(bits), -std::bit_cast<float>(bits)}) {
      const long double want = std::exp(static_cast<long double>(x));
      const float got = plain::exponential(x);
      if (want > static_cast<long double>(std::numeric_limits<float>::max())) {
        ASSERT_TRUE(std::isinf(got) || got == std::numeric_limits<float>::max()) << x;
        continue;
      }
      // One ulp of the right result; below the normal range they are all as large as the smallest number.
      const int exponent = std::max(std::ilogb(want), -126);
      const double ulp = std::ldexp(1.0, exponent - 23);
      const double error = std::fabs(double(static_cast<long double>(got) - want)) / ulp;
      if (error > worst) {
        worst = error;
        at = x;
      }
      ++compared;
    }
  }
  EXPECT_LE(worst, 2.0);
  EXPECT_GT(worst, 0.5) << "no rounding seen: nothing was compared";
  std::printf("exp: worst error %.3f ulp at %.9g, %ld values\n", worst, double(at), compared);
}

TEST(Exponential, EndsInInfinityAndZero_ThroughSubnormals) {
  constexpr float kInf = std::numeric_limits<float>::infinity();
  EXPECT_EQ(plain::exponential(0.0f), 1.0f);
  EXPECT_EQ(plain::exponential(-0.0f), 1.0f);
  EXPECT_EQ(plain::exponential(88.8f), kInf);
  EXPECT_EQ(plain::exponential(3e38f), kInf);
  EXPECT_EQ(plain::exponential(kInf), kInf);
  EXPECT_EQ(bitsOf(plain::exponential(-kInf)), 0u);
  EXPECT_EQ(bitsOf(plain::exponential(-104.0f)), 0u);
  EXPECT_EQ(bitsOf(plain::exponential(-103.5f)), 1u);
  EXPECT_GT(plain::exponential(-90.0f), 0.0f);
  EXPECT_LT(plain::exponential(-90.0f), std::numeric_limits<float>::min());
  EXPECT_TRUE(std::isnan(plain::exponential(std::numeric_limits<float>::quiet_NaN())));
}

}  // namespace
}  // namespace sluice
