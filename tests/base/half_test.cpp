// Goal:   narrow floats mean exactly what their standards say, on every bit pattern.
// Method: each value is computed again from its fields by ldexp, in double, where no rounding is needed; rounding is checked against the
//         two neighbours by distance. No expected value comes from the functions under test.

#include "core/base/half.h"

#include <cmath>
#include <cstdint>
#include <limits>

#include <gtest/gtest.h>

namespace sluice {
namespace {

// sign, exponent and mantissa widths spelled out: value = (-1)^s * 2^(e - bias) * (1 + m / 2^mantissa_bits), subnormal where e = 0.
double valueOfFields(unsigned bits, int exponent_bits, int mantissa_bits, int bias) {
  const unsigned mantissa = bits & ((1u << mantissa_bits) - 1);
  const int exponent = int((bits >> mantissa_bits) & ((1u << exponent_bits) - 1));
  const double sign = ((bits >> (mantissa_bits + exponent_bits)) & 1u) != 0 ? -1.0 : 1.0;
  if (exponent == 0) return sign * std::ldexp(double(mantissa), 1 - bias - mantissa_bits);
  return sign * std::ldexp(double(mantissa) + double(1u << mantissa_bits), exponent - bias - mantissa_bits);
}

TEST(F16, EqualsItsFields_OnAllPatterns) {
  for (unsigned bits = 0; bits < 0x10000u; ++bits) {
    const float got = f16ToFloat(std::uint16_t(bits));
    if (((bits >> 10) & 31u) == 31u) {
      EXPECT_EQ(std::isnan(got), (bits & 0x3ffu) != 0) << bits;
      EXPECT_EQ(std::isinf(got), (bits & 0x3ffu) == 0) << bits;
    } else {
      EXPECT_EQ(double(got), valueOfFields(bits, 5, 10, 15)) << bits;
    }
    EXPECT_EQ(std::signbit(got), (bits & 0x8000u) != 0) << bits;
  }
}

TEST(F16, KnownConstants_NamedByTheStandard) {
  EXPECT_EQ(f16ToFloat(0x3c00), 1.0F);
  EXPECT_EQ(f16ToFloat(0x7bff), 65504.0F);
  EXPECT_EQ(f16ToFloat(0x0001), 0x1p-24F);
  EXPECT_EQ(f16ToFloat(0x0400), 0x1p-14F);
  EXPECT_NE(f16ToFloat(0x3c01), 1.0F);  // control: one bit shows
}

TEST(Bf16, EqualsItsFields_OnAllPatterns) {
  for (unsigned bits = 0; bits < 0x10000u; ++bits) {
    const float got = bf16ToFloat(std::uint16_t(bits));
    if (((bits >> 7) & 255u) == 255u) {
      EXPECT_EQ(std::isnan(got), (bits & 0x7fu) != 0) << bits;
    } else {
      EXPECT_EQ(double(got), valueOfFields(bits, 8, 7, 127)) << bits;
    }
  }
}

TEST(Bf16, ComesBackUnchanged_FromFloat) {
  for (unsigned bits = 0; bits < 0x10000u; ++bits) {
    const float value = bf16ToFloat(std::uint16_t(bits));
    if (std::isnan(value)) {
      EXPECT_TRUE(std::isnan(bf16ToFloat(floatToBf16(value)))) << bits;
    } else {
      EXPECT_EQ(floatToBf16(value), bits);
    }
  }
}

// Between two neighbours lo and hi, a float rounds to the nearer one, and exactly in the middle to the one whose last bit is 0.
TEST(Bf16, RoundsToTheNearest_TiesToEven) {
  for (unsigned lo = 0x3f00u; lo < 0x4100u; ++lo) {
    const double a = bf16ToFloat(std::uint16_t(lo)), b = bf16ToFloat(std::uint16_t(lo + 1));
    const auto quarter = float(a + (b - a) * 0.25), middle = float(a + (b - a) * 0.5), three_quarters = float(a + (b - a) * 0.75);
    EXPECT_EQ(floatToBf16(quarter), lo);
    EXPECT_EQ(floatToBf16(three_quarters), lo + 1);
    EXPECT_EQ(floatToBf16(middle), (lo & 1u) == 0 ? lo : lo + 1);
    EXPECT_EQ(floatToBf16(std::nextafter(middle, float(a))), lo);
    EXPECT_EQ(floatToBf16(std::nextafter(middle, float(b))), lo + 1);
  }
}

TEST(Bf16, OverflowsToInfinity_AndKeepsNaN) {
  constexpr float kMax = std::numeric_limits<float>::max();
  EXPECT_EQ(floatToBf16(kMax), 0x7f80);
  EXPECT_EQ(floatToBf16(-kMax), 0xff80);
  EXPECT_EQ(floatToBf16(std::numeric_limits<float>::infinity()), 0x7f80);
  EXPECT_TRUE(std::isnan(bf16ToFloat(floatToBf16(std::numeric_limits<float>::quiet_NaN()))));
  // A NaN whose payload lies in the dropped half must not become infinity.
  EXPECT_TRUE(std::isnan(bf16ToFloat(floatToBf16(std::bit_cast<float>(0x7f800001u)))));
}

TEST(E4m3, EqualsItsFields_OnAllPatterns) {
  for (unsigned bits = 0; bits < 0x100u; ++bits) {
    const float got = e4m3ToFloat(std::uint8_t(bits));
    if ((bits & 0x7fu) == 0x7fu) {
      EXPECT_TRUE(std::isnan(got)) << bits;
    } else {
      EXPECT_EQ(double(got), valueOfFields(bits, 4, 3, 7)) << bits;
    }
  }
}

TEST(E4m3, KnownConstants_NamedByTheStandard) {
  EXPECT_EQ(e4m3ToFloat(0x7e), 448.0F);
  EXPECT_EQ(e4m3ToFloat(0x38), 1.0F);
  EXPECT_EQ(e4m3ToFloat(0x01), 0x1p-9F);
  EXPECT_TRUE(std::signbit(e4m3ToFloat(0x80)));
  EXPECT_NE(e4m3ToFloat(0x39), 1.0F);  // control: one bit shows
}

}  // namespace
}  // namespace sluice
