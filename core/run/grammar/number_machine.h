#pragma once
// A JSON number read byte by byte, kept inside a range: a prefix is accepted only while some whole number of the range begins with it.

#include <cstdint>

namespace sluice {

/// Which numbers are wanted. Values are scaled by 10^fraction_digits, so that decimals are exact integers.
struct NumberRange {
  int integer_digits = 15;   // most digits before the point; a bounded range keeps integer_digits + fraction_digits <= 18
  int fraction_digits = 0;   // most digits after it; 0: no point
  bool exponent = false;     // may end in e+dd; only where nothing bounds the value
  std::int64_t min = INT64_MIN, max = INT64_MAX;  // scaled, inclusive
  std::int64_t multiple = 1;                      // scaled, >= 1
};

/// Where a number stands. A plain value; all zero is the start.
struct NumberState {
  enum class Phase : std::uint8_t { Start, Sign, Zero, Integer, Point, Fraction, ExponentMark, ExponentSign, ExponentDigits };
  Phase phase = Phase::Start;
  bool negative = false;
  std::uint8_t digits = 0;   // in the current part
  std::int64_t value = 0;    // magnitude of all digits so far, unscaled
  friend bool operator==(const NumberState&, const NumberState&) = default;
};

/// Takes one byte, or returns false (state unchanged).
bool numberAccepts(const NumberRange& range, NumberState& state, std::uint8_t byte);
/// The digits so far are a whole number of the range.
bool numberMayEnd(const NumberRange& range, const NumberState& state);
/// Some number of the range exists at all.
bool numberPossible(const NumberRange& range);

}  // namespace sluice
