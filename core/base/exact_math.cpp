#include "core/base/exact_math.h"

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <limits>

#include "core/base/check.h"

namespace sluice {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

/// A sum of two doubles that do not overlap.
struct Pair {
  double high, low;
};

constexpr Pair sumOf(double a, double b) {
  const double sum = a + b, taken = sum - a;
  return {sum, (a - (sum - taken)) + (b - taken)};
}
/// a * b exactly: each factor split into two halves of 26 bits. |a|, |b| < 2^900.
constexpr Pair productOf(double a, double b) {
  constexpr double kSplit = 134217729.0;  // 2^27 + 1
  const double ta = kSplit * a, a1 = ta - (ta - a), a2 = a - a1;
  const double tb = kSplit * b, b1 = tb - (tb - b), b2 = b - b1;
  const double product = a * b;
  return {product, ((a1 * b1 - product) + a1 * b2 + a2 * b1) + a2 * b2};
}
constexpr Pair operator+(Pair a, Pair b) {
  const Pair sum = sumOf(a.high, b.high);
  return sumOf(sum.high, sum.low + (a.low + b.low));
}
constexpr Pair operator*(Pair a, Pair b) {
  const Pair product = productOf(a.high, b.high);
  return sumOf(product.high, product.low + (a.high * b.low + a.low * b.high));
}
constexpr Pair operator/(Pair a, Pair b) {
  const double first = a.high / b.high;
  const Pair taken = b * Pair{first, 0.0};
  const Pair rest = a + Pair{-taken.high, -taken.low};
  return sumOf(first, rest.high / b.high);
}

// ln 2 and pi/2 in pieces of 32 and 24 bits: a piece times a whole number below 2^21 or 2^28 is exact.
constexpr std::array kLn2Pieces = {0x1.62e42feep-1, 0x1.a39ef356p-33, 0x1.93c7673p-65};
constexpr std::array kHalfPiPieces = {0x1.921fb4p+0, 0x1.4442dp-24, 0x1.846988p-48, 0x1.8cc516p-72, 0x1.01b838p-96};
constexpr Pair kLn2{0x1.62e42fefa39efp-1, 0x1.abc9e3b39803fp-56};
constexpr double kOneByLn2 = 0x1.71547652b82fep+0, kTwoByPi = 0x1.45f306dc9c883p-1;

/// To the nearest whole number, ties to even; |x| < 2^51.
constexpr double nearest(double x) {
  constexpr double kMagic = 6755399441055744.0;  // 1.5 * 2^52
  return (x + kMagic) - kMagic;
}

/// The coefficients of a power series, highest first, by the given rule.
template <int N, class Rule>
constexpr std::array<double, N> series(Rule rule) {
  std::array<double, N> c{};
  for (int i = 0; i < N; ++i) c[std::size_t(N - 1 - i)] = rule(i);
  return c;
}
constexpr double factorial(int n) {
  double f = 1.0;
  for (int i = 2; i <= n; ++i) f *= double(i);
  return f;  // exact up to 22!
}
template <std::size_t N>
constexpr double horner(const std::array<double, N>& c, double x) {
  double sum = c[0];
  for (std::size_t i = 1; i < N; ++i) sum = sum * x + c[i];
  return sum;
}

// sin r = r + r^3 S(r^2), cos r = 1 - r^2/2 + r^4 C(r^2), |r| <= pi/4: the first term left out is below 1e-21 of the whole.
constexpr auto kSine = series<9>([](int i) { return (i % 2 == 0 ? -1.0 : 1.0) / factorial(2 * i + 3); });
constexpr auto kCosine = series<9>([](int i) { return (i % 2 == 0 ? 1.0 : -1.0) / factorial(2 * i + 4); });
// e^r = 1 + r + r^2 E(r), |r| <= ln 2 / 2: r^15/15! is below 1e-19.
constexpr auto kExp = series<13>([](int i) { return 1.0 / factorial(i + 2); });
// ln((1 + s)/(1 - s)) = 2s + s * R(s^2), |s| <= 0.1716: s^24 is below 1e-18.
constexpr auto kLog = series<11>([](int i) { return 2.0 / double(2 * i + 3); });

/// x * 2^n, n in [-2200, 2200], rounded once: the first steps are exact.
double scaled(double x, int n) {
  const auto power = [](int e) { return std::bit_cast<double>(std::uint64_t(e + 1023) << 52); };
  for (; n > 1000; n -= 1000) x *= power(1000);
  if (n < -1000) {
    // Keep x normal until the last step: 2^-1000 of a number near 1 is.
    const int rest = n + 1000;
    if (rest < -1000) return x * power(-1000) * power(-1000);
    return x * power(-1000) * power(rest);
  }
  return x * power(n);
}

/// e^(t.high + t.low)
double expOf(Pair t) {
  if (t.high != t.high) return kNan;
  if (t.high > 720.0) return kInfinity;
  if (t.high < -760.0) return 0.0;
  const double n = nearest(t.high * kOneByLn2);
  const Pair first = sumOf(t.high, -n * kLn2Pieces[0]);
  const Pair second = sumOf(first.high, -n * kLn2Pieces[1]);
  const Pair r = sumOf(second.high, second.low + (first.low + (t.low - n * kLn2Pieces[2])));
  return scaled(1.0 + (r.high + (r.low + r.high * r.high * horner(kExp, r.high))), int(n));
}

/// x = m * 2^n with m in [sqrt(1/2), sqrt(2)); x positive and finite.
struct Parts {
  double m;
  int n;
};
Parts partsOf(double x) {
  int n = 0;
  if (x < std::numeric_limits<double>::min()) {
    x *= 0x1p54;
    n = -54;
  }
  const std::uint64_t bits = std::bit_cast<std::uint64_t>(x);
  n += int(bits >> 52) - 1023;
  double m = std::bit_cast<double>((bits & 0x000fffffffffffffu) | 0x3ff0000000000000u);
  if (m >= 0x1.6a09e667f3bcdp+0) {
    m *= 0.5;
    ++n;
  }
  return {m, n};
}

/// ln x in twice the precision, x positive and finite.
Pair logOf(double x) {
  const Parts p = partsOf(x);
  const Pair s = Pair{p.m - 1.0, 0.0} / sumOf(p.m, 1.0);
  const Pair z = s * s;
  constexpr int kTerms = 22;  // 0.0295^22 is below 2^-110
  Pair sum{0.0, 0.0};
  for (int k = kTerms; k >= 0; --k) sum = sum * z + Pair{2.0, 0.0} / Pair{double(2 * k + 1), 0.0};
  return kLn2 * Pair{double(p.n), 0.0} + s * sum;
}

}  // namespace

SinCos exactSinCos(double angle) {
  if (angle != angle) return {kNan, kNan};
  CHECK(angle <= 0x1p28 && angle >= -0x1p28);
  const double n = nearest(angle * kTwoByPi);
  Pair r{angle, 0.0};
  for (const double piece : kHalfPiPieces) {
    const Pair next = sumOf(r.high, -n * piece);
    r = {next.high, r.low + next.low};
  }
  r = sumOf(r.high, r.low);
  const double z = r.high * r.high;
  const double sine = r.high + (r.high * z * horner(kSine, z) + r.low * (1.0 - 0.5 * z));
  const double half = 0.5 * z, one = 1.0 - half;
  const double cosine = one + (((1.0 - one) - half) + (z * z * horner(kCosine, z) - r.high * r.low));
  switch (std::uint64_t(std::int64_t(n)) & 3u) {
    case 0: return {sine, cosine};
    case 1: return {cosine, -sine};
    case 2: return {-sine, -cosine};
    default: return {-cosine, sine};
  }
}

double exactExp(double x) { return expOf({x, 0.0}); }

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
  if (x != x || x < 0.0) return kNan;
  if (x == 0.0) return -kInfinity;
  if (x == kInfinity) return kInfinity;
  const Parts p = partsOf(x);
  const double f = p.m - 1.0, s = f / (2.0 + f), z = s * s, n = double(p.n);
  const double rest = s * (f - z * horner(kLog, z));
  return n * kLn2Pieces[0] + (f - (rest - n * (kLn2Pieces[1] + kLn2Pieces[2])));
}

double exactPow(double base, double exponent) {
  if (exponent == 0.0 || base == 1.0) return 1.0;
  if (base != base || exponent != exponent || base < 0.0) return kNan;
  if (base == 0.0) return exponent > 0.0 ? 0.0 : kInfinity;
  const bool grows = (base > 1.0) == (exponent > 0.0);
  if (base == kInfinity || exponent == kInfinity || exponent == -kInfinity) return grows ? kInfinity : 0.0;
  const Pair log = logOf(base);
  if (exponent > 1e20 || exponent < -1e20) return grows ? kInfinity : 0.0;  // |ln base| is at least 1e-16
  return expOf(log * Pair{exponent, 0.0});
}

}  // namespace sluice
