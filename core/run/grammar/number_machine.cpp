#include "core/run/grammar/number_machine.h"

#include <algorithm>

namespace sluice {
namespace {

using Phase = NumberState::Phase;
__extension__ using Wide = __int128;  // scaled values of up to 33 digits

constexpr int kExponentDigits = 2;  // 10^99: finite as a double whatever the 30 digits before it

Wide powerOfTen(int n) {
  Wide p = 1;
  for (int i = 0; i < n; ++i) p *= 10;
  return p;
}

// Is there a multiple of `multiple` in [lo, hi] and in the range?
bool holdsOne(const NumberRange& range, Wide lo, Wide hi) {
  lo = std::max<Wide>(lo, range.min);
  hi = std::min<Wide>(hi, range.max);
  if (lo > hi) return false;
  const Wide m = range.multiple;
  Wide first = lo / m * m;
  if (first < lo) first += m;
  return first <= hi;
}

bool holdsOneOfSign(const NumberRange& range, bool negative, Wide lo, Wide hi) {
  return negative ? holdsOne(range, -hi, -lo) : holdsOne(range, lo, hi);
}

// Nothing but syntax and digit counts limits this number: its value need not be known.
bool unbounded(const NumberRange& r) { return r.min == INT64_MIN && r.max == INT64_MAX && r.multiple == 1; }

// Whatever the state's digits may still become, is one of them wanted?
bool reachable(const NumberRange& range, const NumberState& s) {
  if (unbounded(range)) return true;
  const Wide unit = powerOfTen(range.fraction_digits);
  switch (s.phase) {
    case Phase::Start: return holdsOne(range, -powerOfTen(range.integer_digits) * unit, powerOfTen(range.integer_digits) * unit);
    case Phase::Sign: return holdsOneOfSign(range, s.negative, 0, powerOfTen(range.integer_digits) * unit - 1);
    case Phase::Zero: return holdsOneOfSign(range, s.negative, 0, unit - 1);
    case Phase::Integer:
      for (int more = 0; s.digits + more <= range.integer_digits; ++more) {
        const Wide lo = Wide(s.value) * powerOfTen(more) * unit;
        if (holdsOneOfSign(range, s.negative, lo, lo + powerOfTen(more) * unit - 1)) return true;
      }
      return false;
    case Phase::Point:
    case Phase::Fraction: {
      const Wide left = powerOfTen(range.fraction_digits - s.digits);
      return holdsOneOfSign(range, s.negative, Wide(s.value) * left, Wide(s.value) * left + left - 1);
    }
    case Phase::ExponentMark:
    case Phase::ExponentSign:
    case Phase::ExponentDigits: return true;
  }
  return false;
}

// The state after `byte`, by JSON's syntax and the digit limits alone.
bool stepSyntax(const NumberRange& range, NumberState& s, std::uint8_t byte) {
  const bool digit = byte >= '0' && byte <= '9';
  switch (s.phase) {
    case Phase::Start:
      if (byte == '-') {
        s.negative = true;
        s.phase = Phase::Sign;
        return true;
      }
      [[fallthrough]];
    case Phase::Sign:
      if (!digit) return false;
      s.phase = (byte == '0') ? Phase::Zero : Phase::Integer;
      s.value = byte - '0';
      s.digits = 1;
      return true;
    case Phase::Integer:
      if (digit) {
        if (s.digits >= range.integer_digits) return false;
        if (!unbounded(range)) s.value = s.value * 10 + (byte - '0');
        ++s.digits;
        return true;
      }
      [[fallthrough]];
    case Phase::Zero:
      if (byte == '.' && range.fraction_digits > 0) {
        s.phase = Phase::Point;
        s.digits = 0;
        return true;
      }
      break;
    case Phase::Point:
    case Phase::Fraction:
      if (digit) {
        if (s.digits >= range.fraction_digits) return false;
        if (!unbounded(range)) s.value = s.value * 10 + (byte - '0');
        ++s.digits;
        s.phase = Phase::Fraction;
        return true;
      }
      if (s.phase == Phase::Point) return false;
      break;
    case Phase::ExponentMark:
      if (byte == '+' || byte == '-') {
        s.phase = Phase::ExponentSign;
        return true;
      }
      [[fallthrough]];
    case Phase::ExponentSign:
      if (!digit) return false;
      s.phase = Phase::ExponentDigits;
      s.digits = 1;
      return true;
    case Phase::ExponentDigits:
      if (!digit || s.digits >= kExponentDigits) return false;
      ++s.digits;
      return true;
  }
  if ((byte == 'e' || byte == 'E') && range.exponent) {
    s.phase = Phase::ExponentMark;
    return true;
  }
  return false;
}

}  // namespace

bool numberAccepts(const NumberRange& range, NumberState& state, std::uint8_t byte) {
  NumberState next = state;
  if (!stepSyntax(range, next, byte) || !reachable(range, next)) return false;
  state = next;
  return true;
}

bool numberMayEnd(const NumberRange& range, const NumberState& s) {
  const Wide unit = powerOfTen(range.fraction_digits);
  const bool any = unbounded(range);
  switch (s.phase) {
    case Phase::Start:
    case Phase::Sign:
    case Phase::Point:
    case Phase::ExponentMark:
    case Phase::ExponentSign: return false;
    case Phase::Zero:
    case Phase::Integer: return any || holdsOneOfSign(range, s.negative, Wide(s.value) * unit, Wide(s.value) * unit);
    case Phase::Fraction: {
      const Wide value = Wide(s.value) * powerOfTen(range.fraction_digits - s.digits);
      return any || holdsOneOfSign(range, s.negative, value, value);
    }
    case Phase::ExponentDigits: return true;
  }
  return false;
}

bool numberPossible(const NumberRange& range) { return reachable(range, NumberState{}); }

}  // namespace sluice
