#pragma once
// Narrow floats, bit by bit, the same on every machine. Scalar: hot loops have their own in simd/.

#include <bit>
#include <cstdint>

namespace sluice {

constexpr float bf16ToFloat(std::uint16_t b) { return std::bit_cast<float>(std::uint32_t(b) << 16); }

/// Round to nearest, ties to even; NaN stays a (quiet) NaN.
constexpr std::uint16_t floatToBf16(float f) {
  const auto u = std::bit_cast<std::uint32_t>(f);
  if ((u & 0x7fffffffu) > 0x7f800000u) return std::uint16_t((u >> 16) | 0x40u);
  return std::uint16_t((u + 0x7fffu + ((u >> 16) & 1u)) >> 16);
}

/// IEEE binary16, subnormals, infinities and NaN included.
constexpr float f16ToFloat(std::uint16_t h) {
  const std::uint32_t sign = std::uint32_t(h & 0x8000u) << 16;
  const std::uint32_t exponent = (h >> 10) & 31u;
  std::uint32_t mantissa = h & 0x3ffu;
  if (exponent == 31) return std::bit_cast<float>(sign | 0x7f800000u | (mantissa << 13));
  if (exponent != 0) return std::bit_cast<float>(sign | ((exponent + 112) << 23) | (mantissa << 13));
  if (mantissa == 0) return std::bit_cast<float>(sign);
  int shift = 0;
  while ((mantissa & 0x400u) == 0) {
    mantissa <<= 1;
    ++shift;
  }
  return std::bit_cast<float>(sign | (std::uint32_t(113 - shift) << 23) | ((mantissa & 0x3ffu) << 13));
}

/// OCP e4m3fn: bias 7, no infinity, 0x7f and 0xff are NaN.
constexpr float e4m3ToFloat(std::uint8_t b) {
  const std::uint32_t sign = std::uint32_t(b & 0x80u) << 24;
  const std::uint32_t exponent = (b >> 3) & 15u;
  const std::uint32_t mantissa = b & 7u;
  if (exponent == 15 && mantissa == 7) return std::bit_cast<float>(sign | 0x7fc00000u);
  if (exponent != 0) return std::bit_cast<float>(sign | ((exponent + 120) << 23) | (mantissa << 20));
  const float magnitude = float(mantissa) * 0x1p-9f;
  return (sign != 0u) ? -magnitude : magnitude;
}

/// OCP e8m0, a bare exponent: 2^(b - 127); 255 is NaN.
constexpr float e8m0ToFloat(std::uint8_t b) {
  if (b == 255) return std::bit_cast<float>(std::uint32_t(0x7fc00000u));
  if (b == 0) return 0x1p-127f;
  return std::bit_cast<float>(std::uint32_t(b) << 23);
}

}  // namespace sluice
