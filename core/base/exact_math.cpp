#include "core/base/exact_math.h"

#include <bit>
#include <cstdint>
#include <initializer_list>
#include <limits>

namespace sluice {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// ln 2 in two parts: the first has 32 bits, so that its product with an exponent is exact.
constexpr double kLn2High = 0x1.62e42feep-1, kLn2Low = 0x1.a39ef35793c76p-33;
constexpr double kLog2e = 0x1.71547652b82fep0;

double powerOfTwo(int e) { return std::bit_cast<double>(std::uint64_t(e + 1023) << 52); }

// Rounds to the nearest integer; |x| < 2^51.
double nearest(double x) {
  constexpr double kShift = 0x1.8p52;
  return (x + kShift) - kShift;
}

}  // namespace

double exactExp(double x) {
  if (!(x == x)) return x;
  if (x > 709.8) return kInfinity;
  if (x < -745.2) return 0.0;
  const double k = nearest(x * kLog2e);
  const double r = (x - k * kLn2High) - k * kLn2Low;
  // The Taylor series to r^14: |r| <= 0.347, the next term is below 2^-62.
  double p = 1.0 / 87178291200.0;
  constexpr double kInverse[] = {1.0 / 6227020800.0, 1.0 / 479001600.0, 1.0 / 39916800.0, 1.0 / 3628800.0, 1.0 / 362880.0, 1.0 / 40320.0, 1.0 / 5040.0,
                                 1.0 / 720.0,        1.0 / 120.0,       1.0 / 24.0,       1.0 / 6.0,       0.5};
  for (const double c : kInverse) p = p * r + c;
  const double value = 1.0 + (r + r * r * p);
  // In two steps, so that results below the normal range are rounded once.
  const int e = int(k);
  const int half = e / 2;
  return value * powerOfTwo(half) * powerOfTwo(e - half);
}

float exactExp(float x) {
  if (!(x == x)) return x;
  if (x > 88.8f) return std::numeric_limits<float>::infinity();
  if (x < -104.0f) return 0.0f;
  constexpr float kShift = 0x1.8p23f;
  const float k = (x * 0x1.715476p0f + kShift) - kShift;
  const float r = (x - k * 0x1.62e4p-1f) - k * 0x1.7f7d1cp-20f;  // the first part has 15 bits: its product with k is exact
  float p = 1.0f / 5040.0f;
  for (const float c : {1.0f / 720.0f, 1.0f / 120.0f, 1.0f / 24.0f, 1.0f / 6.0f, 0.5f}) p = p * r + c;
  const float value = 1.0f + (r + r * r * p);
  const int e = int(k);
  const int half = e / 2;
  const auto scale = [](int n) { return std::bit_cast<float>(std::uint32_t(n + 127) << 23); };
  return value * scale(half) * scale(e - half);
}

double exactLog(double x) {
  if (!(x >= 0.0)) return std::numeric_limits<double>::quiet_NaN();
  if (x == 0.0) return -kInfinity;
  if (x == kInfinity) return kInfinity;
  int e = 0;
  if (x < 0x1p-1022) {
    x *= 0x1p54;
    e = -54;
  }
  const auto bits = std::bit_cast<std::uint64_t>(x);
  e += int(bits >> 52) - 1023;
  double m = std::bit_cast<double>((bits & 0x000fffffffffffffull) | 0x3ff0000000000000ull);
  if (m > 0x1.6a09e667f3bcdp0) {
    m *= 0.5;
    ++e;
  }
  // log m = 2 atanh(s): |s| <= 0.172, the first term left out is below 2^-62.
  const double f = m - 1.0;
  const double s = f / (2.0 + f);
  const double z = s * s;
  double p = 1.0 / 23.0;
  for (const double c : {1.0 / 21.0, 1.0 / 19.0, 1.0 / 17.0, 1.0 / 15.0, 1.0 / 13.0, 1.0 / 11.0, 1.0 / 9.0, 1.0 / 7.0, 1.0 / 5.0, 1.0 / 3.0}) p = p * z + c;
  // f - s*f + ...: 2s = f - s*f keeps the leading term exact.
  const double tail = 2.0 * s * (z * p) - s * f;
  return double(e) * kLn2High + (f + (tail + double(e) * kLn2Low));
}

double exactPow(double base, double exponent) {
  if (exponent == 0.0) return 1.0;
  return exactExp(exponent * exactLog(base));
}

SinCos exactSinCos(double angle) {
  // pi/2 in three parts of 33 bits: products with a quarter count below 2^20 are exact, beyond that nearly.
  constexpr double kHigh = 0x1.921fb544p0, kMiddle = 0x1.0b4611a6p-34, kLow = 0x1.3198a2e037073p-69;
  const double n = nearest(angle * 0x1.45f306dc9c883p-1);
  const double r = ((angle - n * kHigh) - n * kMiddle) - n * kLow;
  const double z = r * r;
  double p = -1.0 / 121645100408832000.0;  // sine: the Taylor series to r^19
  for (const double c : {1.0 / 355687428096000.0, -1.0 / 1307674368000.0, 1.0 / 6227020800.0, -1.0 / 39916800.0, 1.0 / 362880.0, -1.0 / 5040.0, 1.0 / 120.0, -1.0 / 6.0})
    p = p * z + c;
  const double sine = r + r * z * p;
  double q = -1.0 / 6402373705728000.0;  // cosine: to r^18
  for (const double c : {1.0 / 20922789888000.0, -1.0 / 87178291200.0, 1.0 / 479001600.0, -1.0 / 3628800.0, 1.0 / 40320.0, -1.0 / 720.0, 1.0 / 24.0, -0.5}) q = q * z + c;
  const double cosine = 1.0 + z * q;
  switch (std::int64_t(n) & 3) {
    case 0: return {sine, cosine};
    case 1: return {cosine, -sine};
    case 2: return {-sine, -cosine};
    default: return {-cosine, sine};
  }
}

}  // namespace sluice
