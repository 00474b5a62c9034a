#include "core/text/jinja/bigint.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace sluice::jinja {

BigInt::BigInt(std::int64_t value) : negative_(value < 0) {
  std::uint64_t magnitude = negative_ ? ~static_cast<std::uint64_t>(value) + 1 : static_cast<std::uint64_t>(value);
  for (; magnitude != 0; magnitude >>= 32) limbs_.push_back(static_cast<std::uint32_t>(magnitude));
}

void BigInt::trim() {
  while (!limbs_.empty() && limbs_.back() == 0) limbs_.pop_back();
  if (limbs_.empty()) negative_ = false;
}

std::optional<BigInt> BigInt::parse(std::string_view digits, int base) {
  if (digits.empty()) return std::nullopt;
  BigInt value;
  for (const char c : digits) {
    int digit = 99;
    if (c >= '0' && c <= '9') digit = c - '0';
    if (c >= 'a' && c <= 'z') digit = c - 'a' + 10;
    if (c >= 'A' && c <= 'Z') digit = c - 'A' + 10;
    if (digit >= base) return std::nullopt;
    std::uint64_t carry = static_cast<std::uint64_t>(digit);
    for (std::uint32_t& limb : value.limbs_) {
      carry += static_cast<std::uint64_t>(limb) * static_cast<std::uint64_t>(base);
      limb = static_cast<std::uint32_t>(carry);
      carry >>= 32;
    }
    if (carry != 0) value.limbs_.push_back(static_cast<std::uint32_t>(carry));
  }
  return value;
}

BigInt BigInt::truncate(double value) {
  int exponent = 0;
  const double fraction = std::frexp(std::fabs(value), &exponent);  // [0.5, 1) * 2^exponent
  const auto mantissa = static_cast<std::uint64_t>(std::ldexp(fraction, 53));
  const int shift = exponent - 53;
  BigInt result;
  if (shift <= 0) {
    result = BigInt(shift <= -64 ? 0 : static_cast<std::int64_t>(mantissa >> -shift));
  } else {
    result.limbs_.assign(static_cast<std::size_t>(shift / 32), 0);
    const int bit = shift % 32;
    result.limbs_.push_back(static_cast<std::uint32_t>(mantissa << bit));
    result.limbs_.push_back(static_cast<std::uint32_t>(mantissa >> (32 - bit)));
    result.limbs_.push_back(bit == 0 ? 0 : static_cast<std::uint32_t>((mantissa >> 32) >> (32 - bit)));
  }
  result.negative_ = value < 0;
  result.trim();
  return result;
}

std::size_t BigInt::bits() const {
  return limbs_.empty() ? 0 : limbs_.size() * 32 - static_cast<std::size_t>(std::countl_zero(limbs_.back()));
}

std::optional<std::int64_t> BigInt::small() const {
  if (limbs_.size() > 2) return std::nullopt;
  std::uint64_t magnitude = 0;
  for (std::size_t i = limbs_.size(); i > 0; --i) magnitude = (magnitude << 32) | limbs_[i - 1];
  const std::uint64_t limit = std::uint64_t{1} << 63;
  if (negative_ ? magnitude > limit : magnitude >= limit) return std::nullopt;
  return static_cast<std::int64_t>(negative_ ? ~magnitude + 1 : magnitude);
}

double BigInt::toDouble() const {
  // The top 64 bits with a sticky lowest bit round once, to nearest even, in the conversion.
  const std::size_t count = bits();
  if (count == 0) return 0.0;
  const std::size_t drop = count > 64 ? count - 64 : 0;
  std::uint64_t top = 0;
  bool sticky = false;
  for (std::size_t bit = 0; bit < count; ++bit) {
    const std::uint64_t one = (limbs_[bit / 32] >> (bit % 32)) & 1;
    if (bit < drop) {
      sticky = sticky || one != 0;
    } else {
      top |= one << (bit - drop);
    }
  }
  if (sticky) top |= 1;
  const double magnitude = std::ldexp(static_cast<double>(top), static_cast<int>(drop));
  return negative_ ? -magnitude : magnitude;
}

std::uint32_t BigInt::divideSmall(std::uint32_t by) {
  std::uint64_t rest = 0;
  for (std::size_t i = limbs_.size(); i > 0; --i) {
    rest = (rest << 32) | limbs_[i - 1];
    limbs_[i - 1] = static_cast<std::uint32_t>(rest / by);
    rest %= by;
  }
  trim();
  return static_cast<std::uint32_t>(rest);
}

std::string BigInt::digits(int base) const {
  if (zero()) return "0";
  std::string out;
  BigInt rest = *this;
  // As many digits a division as a limb holds.
  std::uint32_t unit = static_cast<std::uint32_t>(base);
  int unit_digits = 1;
  for (; static_cast<std::uint64_t>(unit) * static_cast<std::uint64_t>(base) <= UINT32_MAX; ++unit_digits) unit *= static_cast<std::uint32_t>(base);
  while (!rest.zero()) {
    std::uint32_t part = rest.divideSmall(unit);
    for (int i = 0; i < unit_digits && (part != 0 || !rest.zero()); ++i, part /= static_cast<std::uint32_t>(base))
      out.push_back("0123456789abcdefghijklmnopqrstuvwxyz"[part % static_cast<std::uint32_t>(base)]);
  }
  if (negative_) out.push_back('-');
  std::reverse(out.begin(), out.end());
  return out;
}

std::string BigInt::decimal() const { return digits(10); }

BigInt BigInt::negated() const {
  BigInt result = *this;
  result.negative_ = !negative_ && !zero();
  return result;
}

int BigInt::compareMagnitude(const BigInt& a, const BigInt& b) {
  if (a.limbs_.size() != b.limbs_.size()) return a.limbs_.size() < b.limbs_.size() ? -1 : 1;
  for (std::size_t i = a.limbs_.size(); i > 0; --i)
    if (a.limbs_[i - 1] != b.limbs_[i - 1]) return a.limbs_[i - 1] < b.limbs_[i - 1] ? -1 : 1;
  return 0;
}

int BigInt::compare(const BigInt& a, const BigInt& b) {
  if (a.negative_ != b.negative_) return a.negative_ ? -1 : 1;
  const int magnitude = compareMagnitude(a, b);
  return a.negative_ ? -magnitude : magnitude;
}

BigInt BigInt::addMagnitude(const BigInt& a, const BigInt& b) {
  BigInt sum;
  std::uint64_t carry = 0;
  for (std::size_t i = 0; i < std::max(a.limbs_.size(), b.limbs_.size()); ++i) {
    carry += (i < a.limbs_.size() ? a.limbs_[i] : 0ull) + (i < b.limbs_.size() ? b.limbs_[i] : 0ull);
    sum.limbs_.push_back(static_cast<std::uint32_t>(carry));
    carry >>= 32;
  }
  if (carry != 0) sum.limbs_.push_back(static_cast<std::uint32_t>(carry));
  return sum;
}

BigInt BigInt::subMagnitude(const BigInt& a, const BigInt& b) {  // |a| >= |b|
  BigInt difference;
  std::int64_t borrow = 0;
  for (std::size_t i = 0; i < a.limbs_.size(); ++i) {
    std::int64_t limb = static_cast<std::int64_t>(a.limbs_[i]) - (i < b.limbs_.size() ? static_cast<std::int64_t>(b.limbs_[i]) : 0) - borrow;
    borrow = limb < 0 ? 1 : 0;
    if (limb < 0) limb += std::int64_t{1} << 32;
    difference.limbs_.push_back(static_cast<std::uint32_t>(limb));
  }
  difference.trim();
  return difference;
}

BigInt operator+(const BigInt& a, const BigInt& b) {
  BigInt result;
  if (a.negative_ == b.negative_) {
    result = BigInt::addMagnitude(a, b);
    result.negative_ = a.negative_;
  } else if (BigInt::compareMagnitude(a, b) >= 0) {
    result = BigInt::subMagnitude(a, b);
    result.negative_ = a.negative_;
  } else {
    result = BigInt::subMagnitude(b, a);
    result.negative_ = b.negative_;
  }
  result.trim();
  return result;
}

BigInt operator-(const BigInt& a, const BigInt& b) { return a + b.negated(); }

BigInt operator*(const BigInt& a, const BigInt& b) {
  BigInt product;
  product.limbs_.assign(a.limbs_.size() + b.limbs_.size(), 0);
  for (std::size_t i = 0; i < a.limbs_.size(); ++i) {
    std::uint64_t carry = 0;
    for (std::size_t j = 0; j < b.limbs_.size(); ++j) {
      carry += static_cast<std::uint64_t>(a.limbs_[i]) * b.limbs_[j] + product.limbs_[i + j];
      product.limbs_[i + j] = static_cast<std::uint32_t>(carry);
      carry >>= 32;
    }
    product.limbs_[i + b.limbs_.size()] = static_cast<std::uint32_t>(carry);
  }
  product.negative_ = a.negative_ != b.negative_;
  product.trim();
  return product;
}

void BigInt::divide(const BigInt& a, const BigInt& b, BigInt& quotient, BigInt& remainder) {
  // Bit by bit: numbers here have at most some thousand bits.
  BigInt divisor = b;
  divisor.negative_ = false;
  quotient = BigInt();
  remainder = BigInt();
  quotient.limbs_.assign(a.limbs_.size(), 0);
  for (std::size_t bit = a.bits(); bit > 0; --bit) {
    std::uint32_t carry = (a.limbs_[(bit - 1) / 32] >> ((bit - 1) % 32)) & 1;
    for (std::uint32_t& limb : remainder.limbs_) {
      const std::uint32_t high = limb >> 31;
      limb = (limb << 1) | carry;
      carry = high;
    }
    if (carry != 0) remainder.limbs_.push_back(carry);
    if (compareMagnitude(remainder, divisor) >= 0) {
      remainder = subMagnitude(remainder, divisor);
      quotient.limbs_[(bit - 1) / 32] |= 1u << ((bit - 1) % 32);
    }
  }
  quotient.negative_ = a.negative_ != b.negative_;
  remainder.negative_ = a.negative_;
  quotient.trim();
  remainder.trim();
  if (!remainder.zero() && remainder.negative_ != b.negative_) {
    remainder = remainder + b;
    quotient = quotient - BigInt(1);
  }
}

BigInt BigInt::shiftedLeft(std::size_t count) const {
  BigInt result;
  result.limbs_.assign(count / 32, 0);
  result.negative_ = negative_;
  std::uint64_t carry = 0;
  for (const std::uint32_t limb : limbs_) {
    carry |= static_cast<std::uint64_t>(limb) << (count % 32);
    result.limbs_.push_back(static_cast<std::uint32_t>(carry));
    carry >>= 32;
  }
  result.limbs_.push_back(static_cast<std::uint32_t>(carry));
  result.trim();
  return result;
}

double BigInt::ratio(const BigInt& a, const BigInt& b) {
  BigInt x = a, y = b, quotient, rest;
  x.negative_ = y.negative_ = false;
  if (x.zero()) return 0.0;
  // A quotient of 66 bits or more, its lowest bit sticky, rounds once in toDouble.
  const std::size_t shift = y.bits() + 66 > x.bits() ? y.bits() + 66 - x.bits() : 0;
  divide(x.shiftedLeft(shift), y, quotient, rest);
  if (!rest.zero()) quotient.limbs_[0] |= 1;
  const double magnitude = std::ldexp(quotient.toDouble(), -static_cast<int>(shift));
  return a.negative_ != b.negative_ ? -magnitude : magnitude;
}

}  // namespace sluice::jinja
