#pragma once
// Python's integers beyond 64 bits: enough arithmetic for templates, bounded in size.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::jinja {

/// Sign and magnitude, base 2^32, lowest first, no leading zeros.
class BigInt {
 public:
  BigInt() = default;
  explicit BigInt(std::int64_t value);
  /// Digits of base 2 to 36, no sign, no separators; nothing for other characters.
  static std::optional<BigInt> parse(std::string_view digits, int base);
  /// The integer part of a finite double.
  static BigInt truncate(double value);

  bool negative() const { return negative_; }
  bool zero() const { return limbs_.empty(); }
  bool odd() const { return !limbs_.empty() && (limbs_[0] & 1) != 0; }
  std::size_t bits() const;
  std::optional<std::int64_t> small() const;
  double toDouble() const;
  std::string decimal() const;
  std::string digits(int base) const;  // lower case, with '-' where negative

  BigInt negated() const;
  friend BigInt operator+(const BigInt& a, const BigInt& b);
  friend BigInt operator-(const BigInt& a, const BigInt& b);
  friend BigInt operator*(const BigInt& a, const BigInt& b);
  /// Floored, as Python's // and %; `b` is not zero.
  static void divide(const BigInt& a, const BigInt& b, BigInt& quotient, BigInt& remainder);
  static int compare(const BigInt& a, const BigInt& b);
  /// a / b rounded once, to nearest even; `b` is not zero. Infinite beyond a double.
  static double ratio(const BigInt& a, const BigInt& b);

 private:
  BigInt shiftedLeft(std::size_t bits) const;
  void trim();
  std::uint32_t divideSmall(std::uint32_t by);
  static int compareMagnitude(const BigInt& a, const BigInt& b);
  static BigInt addMagnitude(const BigInt& a, const BigInt& b);
  static BigInt subMagnitude(const BigInt& a, const BigInt& b);

  std::vector<std::uint32_t> limbs_;
  bool negative_ = false;
};

/// Python refuses to spell integers of more decimal digits than this; so do we, and nothing larger is ever made.
constexpr std::size_t kIntegerDigitsMax = 4300;
constexpr std::size_t kIntegerBitsMax = 14285;  // 10^4300 has 14285 bits

}  // namespace sluice::jinja
