#include "core/text/jinja/numbers.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <limits>

#include "core/text/jinja/unicode.h"

namespace sluice::jinja {

BigInt bigOf(const Value& value) {
  if (value.is(Kind::Big)) return value.as<BigObject>().number;
  return BigInt(value.is(Kind::Bool) ? static_cast<std::int64_t>(value.asBool()) : value.asInt());
}

double doubleOf(const Value& value) {
  if (value.is(Kind::Float)) return value.asFloat();
  if (value.is(Kind::Big)) return value.as<BigObject>().number.toDouble();
  return static_cast<double>(value.is(Kind::Bool) ? static_cast<std::int64_t>(value.asBool()) : value.asInt());
}

std::string spellFloat(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value < 0 ? "-inf" : "inf";
  char buffer[400];
  const double magnitude = std::fabs(value);
  if (magnitude == 0.0 || (magnitude >= 1e-4 && magnitude < 1e16)) {
    const auto end = std::to_chars(buffer, buffer + sizeof(buffer), value, std::chars_format::fixed).ptr;
    std::string out(buffer, end);
    if (out.find('.') == std::string::npos) out += ".0";
    return out;
  }
  const auto end = std::to_chars(buffer, buffer + sizeof(buffer), value, std::chars_format::scientific).ptr;
  return std::string(buffer, end);  // d.ddde+XX with at least two digits of exponent, as Python's
}

std::string spellNumber(const Value& value) {
  if (value.is(Kind::Bool)) return value.asBool() ? "True" : "False";
  if (value.is(Kind::Int)) return std::to_string(value.asInt());
  if (value.is(Kind::Big)) return value.as<BigObject>().number.decimal();
  return spellFloat(value.asFloat());
}

std::optional<int> compareNumbers(const Value& a, const Value& b) {
  const auto sign = [](auto x, auto y) { return x < y ? -1 : x > y ? 1 : 0; };
  if (a.is(Kind::Int) && b.is(Kind::Int)) return sign(a.asInt(), b.asInt());
  if (a.is(Kind::Float) && b.is(Kind::Float)) {
    if (std::isnan(a.asFloat()) || std::isnan(b.asFloat())) return std::nullopt;
    return sign(a.asFloat(), b.asFloat());
  }
  if (!a.is(Kind::Float) && !b.is(Kind::Float)) return BigInt::compare(bigOf(a), bigOf(b));
  if (b.is(Kind::Float)) {
    const double d = b.asFloat();
    if (std::isnan(d)) return std::nullopt;
    if (std::isinf(d)) return d > 0 ? -1 : 1;
    const int whole = BigInt::compare(bigOf(a), BigInt::truncate(d));
    return whole != 0 ? whole : sign(0.0, d - std::trunc(d));
  }
  const auto flipped = compareNumbers(b, a);
  return flipped ? std::optional(-*flipped) : std::nullopt;
}

Value integerValue(BigInt number, bool client) {
  if (const auto small = number.small()) return Value::integer(*small, client);
  Value value = literalBig(std::move(number));
  value.setClient(client);
  return value;
}

namespace {

std::string_view stripped(std::string_view text) {
  std::size_t from = 0, end = text.size();
  while (from < end && isSpace(decodeAt(text, from).code)) from += decodeAt(text, from).bytes;
  while (end > from && isSpace(decodeAt(text, characterBefore(text, end)).code)) end = characterBefore(text, end);
  return text.substr(from, end - from);
}

/// Digits of every script as ASCII.
std::string withPlainDigits(std::string_view text) {
  std::string out;
  for (std::size_t at = 0; at < text.size();) {
    const CodePoint c = decodeAt(text, at);
    if (c.code >= 0x80 && isDecimal(c.code)) {
      out.push_back(static_cast<char>('0' + decimalValue(c.code)));
    } else {
      out.append(text.substr(at, c.bytes));
    }
    at += c.bytes;
  }
  return out;
}

/// Takes single underscores between digits away; nothing when one stands elsewhere.
std::optional<std::string> withoutUnderscores(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '_') {
      out.push_back(text[i]);
    } else if (i == 0 || i + 1 == text.size() || !std::isalnum(static_cast<unsigned char>(text[i - 1])) ||
               !std::isalnum(static_cast<unsigned char>(text[i + 1]))) {
      return std::nullopt;
    }
  }
  return out;
}

}  // namespace

std::optional<Value> readInteger(std::string_view spelled, int base) {
  const std::string plain = withPlainDigits(stripped(spelled));
  std::string_view text = plain;
  bool negative = false;
  if (!text.empty() && (text[0] == '+' || text[0] == '-')) {
    negative = text[0] == '-';
    text.remove_prefix(1);
  }
  const auto prefixed = [&](char lower) { return text.size() > 1 && text[0] == '0' && (text[1] | 0x20) == lower; };
  bool had_prefix = false;
  for (const auto& [letter, of] : {std::pair{'x', 16}, std::pair{'o', 8}, std::pair{'b', 2}}) {
    if (!prefixed(letter) || (base != of && base != 0)) continue;
    base = of;
    text.remove_prefix(2);
    if (!text.empty() && text[0] == '_') text.remove_prefix(1);
    had_prefix = true;
    break;
  }
  if (base == 0) {
    if (text.size() > 1 && text[0] == '0' && text.find_first_not_of("0_") != std::string_view::npos) return std::nullopt;
    base = 10;
  }
  if (base < 2 || base > 36 || (had_prefix && text.empty())) return std::nullopt;
  const auto digits = withoutUnderscores(text);
  if (!digits || digits->size() > kIntegerBitsMax || (base == 10 && digits->size() > kIntegerDigitsMax)) return std::nullopt;
  auto number = BigInt::parse(*digits, base);
  if (!number) return std::nullopt;
  return integerValue(negative ? number->negated() : *number, false);
}

std::optional<double> readFloat(std::string_view text) {
  const auto plain = withoutUnderscores(withPlainDigits(stripped(text)));
  if (!plain || plain->empty()) return std::nullopt;
  std::string_view rest = *plain;
  bool negative = false;
  if (rest[0] == '+' || rest[0] == '-') {
    negative = rest[0] == '-';
    rest.remove_prefix(1);
  }
  std::string lower;
  for (const char c : rest) lower.push_back(static_cast<char>(c >= 'A' && c <= 'Z' ? c + 32 : c));
  double value = 0;
  if (lower == "inf" || lower == "infinity") {
    value = std::numeric_limits<double>::infinity();
  } else if (lower == "nan") {
    value = std::numeric_limits<double>::quiet_NaN();
  } else {
    if (lower.empty() || !(std::isdigit(static_cast<unsigned char>(lower[0])) || lower[0] == '.')) return std::nullopt;
    const auto [end, fault] = std::from_chars(lower.data(), lower.data() + lower.size(), value);
    if (end != lower.data() + lower.size()) return std::nullopt;
    if (fault == std::errc::invalid_argument) return std::nullopt;
    // from_chars leaves `value` alone out of range: too large is infinite, too small is zero.
    if (fault == std::errc::result_out_of_range) {
      const std::size_t e = lower.find('e');
      value = e != std::string::npos && e + 1 < lower.size() && lower[e + 1] == '-' ? 0.0 : std::numeric_limits<double>::infinity();
    }
  }
  return negative ? -value : value;
}

double roundFloat(double value, int digits) {
  if (!std::isfinite(value) || digits > 330) return value;
  if (digits < -310) return std::copysign(0.0, value);
  if (digits >= 0) {
    char buffer[800];
    const int length = std::snprintf(buffer, sizeof(buffer), "%.*f", digits, value);  // exact, half to even
    double result = value;
    std::from_chars(buffer, buffer + length, result);
    return result;
  }
  // To a multiple of 10^-digits: exact integers, the fraction counting only against a tie.
  const BigInt whole = BigInt::truncate(std::fabs(value)), unit = *BigInt::parse("1" + std::string(static_cast<std::size_t>(-digits), '0'), 10);
  BigInt quotient, rest;
  BigInt::divide(whole, unit, quotient, rest);
  const int half = BigInt::compare(rest + rest, unit);
  const bool fraction = std::fabs(value) != std::trunc(std::fabs(value));
  if (half > 0 || (half == 0 && (fraction || quotient.odd()))) quotient = quotient + BigInt(1);
  return std::copysign(BigInt::ratio(quotient * unit, BigInt(1)), value);
}

std::string spellReal(double value, char code, int precision, bool alternate) {
  const bool capital = code == 'E' || code == 'F' || code == 'G';
  if (!std::isfinite(value)) {
    const std::string word = std::isnan(value) ? "nan" : std::signbit(value) ? "-inf" : "inf";
    std::string upper = word;
    std::transform(upper.begin(), upper.end(), upper.begin(), [](char c) { return c == '-' ? c : static_cast<char>(c - 32); });
    return capital ? upper : word;
  }
  const std::string form = std::string("%") + (alternate ? "#" : "") + ".*" + code;
  char buffer[1024];
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
  const int length = std::snprintf(buffer, sizeof(buffer), form.c_str(), precision, value);
#pragma GCC diagnostic pop
  return std::string(buffer, static_cast<std::size_t>(length));
}

std::string_view spelling(Operator op) {
  switch (op) {
    case Operator::Add: return "+";
    case Operator::Sub: return "-";
    case Operator::Mul: return "*";
    case Operator::Div: return "/";
    case Operator::FloorDiv: return "//";
    case Operator::Mod: return "%";
    case Operator::Pow: return "** or pow()";
  }
  UNREACHABLE();
}

namespace {

constexpr const char* kTooLarge = "the integer has more than 4300 digits";

std::optional<Value> smallArithmetic(Operator op, std::int64_t a, std::int64_t b, bool client) {
  std::int64_t result = 0;
  if (op == Operator::Add && !__builtin_add_overflow(a, b, &result)) return Value::integer(result, client);
  if (op == Operator::Sub && !__builtin_sub_overflow(a, b, &result)) return Value::integer(result, client);
  if (op == Operator::Mul && !__builtin_mul_overflow(a, b, &result)) return Value::integer(result, client);
  if ((op == Operator::FloorDiv || op == Operator::Mod) && b != 0 && b != -1) {
    std::int64_t quotient = a / b, rest = a % b;
    if (rest != 0 && (rest < 0) != (b < 0)) {
      quotient -= 1;
      rest += b;
    }
    return Value::integer(op == Operator::Mod ? rest : quotient, client);
  }
  return std::nullopt;
}

std::optional<Value> bigPower(BigInt base, std::int64_t exponent, bool client, std::string& fault) {
  if (base.bits() > 1 && static_cast<std::uint64_t>(exponent) > kIntegerBitsMax / (base.bits() - 1)) {
    fault = kTooLarge;
    return std::nullopt;
  }
  BigInt result(1);
  for (; exponent > 0; exponent >>= 1) {
    if ((exponent & 1) != 0) result = result * base;
    if (exponent > 1) base = base * base;
    if (result.bits() > kIntegerBitsMax) {
      fault = kTooLarge;
      return std::nullopt;
    }
  }
  return integerValue(std::move(result), client);
}

std::optional<Value> integerArithmetic(Operator op, const Value& a, const Value& b, bool client, std::string& fault) {
  if (!a.is(Kind::Big) && !b.is(Kind::Big)) {
    const auto plain = [](const Value& v) { return v.is(Kind::Bool) ? static_cast<std::int64_t>(v.asBool()) : v.asInt(); };
    if (auto result = smallArithmetic(op, plain(a), plain(b), client)) return result;
  }
  const BigInt x = bigOf(a), y = bigOf(b);
  BigInt result;
  switch (op) {
    case Operator::Add: result = x + y; break;
    case Operator::Sub: result = x - y; break;
    case Operator::Mul: result = x * y; break;
    case Operator::FloorDiv:
    case Operator::Mod: {
      if (y.zero()) {
        fault = op == Operator::Mod ? "integer modulo by zero" : "integer division or modulo by zero";
        return std::nullopt;
      }
      BigInt quotient, rest;
      BigInt::divide(x, y, quotient, rest);
      result = op == Operator::Mod ? rest : quotient;
      break;
    }
    case Operator::Pow: {
      const auto exponent = y.small();
      if (exponent && *exponent >= 0) return bigPower(x, *exponent, client, fault);
      if (!exponent && !y.negative()) {  // only 0, 1 and -1 have a power that large
        if (x.bits() <= 1) return bigPower(x, y.odd() ? 1 : 2, client, fault);
        fault = kTooLarge;
        return std::nullopt;
      }
      return arithmetic(op, Value::real(x.toDouble(), client), Value::real(y.toDouble(), client), fault);
    }
    case Operator::Div: {
      if (y.zero()) {
        fault = "division by zero";
        return std::nullopt;
      }
      const bool exact = x.bits() <= 53 && y.bits() <= 53;
      const double quotient = exact ? x.toDouble() / y.toDouble() : BigInt::ratio(x, y);
      if (!std::isfinite(quotient)) {
        fault = "integer division result too large for a float";
        return std::nullopt;
      }
      return Value::real(quotient, client);
    }
  }
  if (result.bits() > kIntegerBitsMax) {
    fault = kTooLarge;
    return std::nullopt;
  }
  return integerValue(std::move(result), client);
}

std::optional<Value> floatArithmetic(Operator op, double a, double b, bool client, std::string& fault) {
  switch (op) {
    case Operator::Add: return Value::real(a + b, client);
    case Operator::Sub: return Value::real(a - b, client);
    case Operator::Mul: return Value::real(a * b, client);
    case Operator::Div:
      if (b == 0) {
        fault = "float division by zero";
        return std::nullopt;
      }
      return Value::real(a / b, client);
    case Operator::FloorDiv:
    case Operator::Mod: {
      if (b == 0) {
        fault = op == Operator::Mod ? "float modulo" : "float floor division by zero";
        return std::nullopt;
      }
      double rest = std::fmod(a, b);
      double quotient = (a - rest) / b;
      if (rest != 0) {
        if ((b < 0) != (rest < 0)) {
          rest += b;
          quotient -= 1.0;
        }
      } else {
        rest = std::copysign(0.0, b);
      }
      if (op == Operator::Mod) return Value::real(rest, client);
      if (quotient == 0) return Value::real(std::copysign(0.0, a / b), client);
      double floored = std::floor(quotient);
      if (quotient - floored > 0.5) floored += 1.0;
      return Value::real(floored, client);
    }
    case Operator::Pow: {
      if (a == 0 && b < 0) {
        fault = "0.0 cannot be raised to a negative power";
        return std::nullopt;
      }
      const double result = std::pow(a, b);
      if (std::isfinite(a) && std::isfinite(b) && !std::isfinite(result)) {
        fault = std::isnan(result) ? "a negative number cannot be raised to a fractional power here" : "(34, 'Numerical result out of range')";
        return std::nullopt;
      }
      return Value::real(result, client);
    }
  }
  UNREACHABLE();
}

}  // namespace

std::optional<Value> arithmetic(Operator op, const Value& a, const Value& b, std::string& fault) {
  const bool client = a.client() || b.client();
  if (a.isIntegral() && b.isIntegral()) return integerArithmetic(op, a, b, client, fault);
  for (const Value* v : {&a, &b}) {
    if (v->is(Kind::Big) && !std::isfinite(doubleOf(*v))) {
      fault = "int too large to convert to float";
      return std::nullopt;
    }
  }
  return floatArithmetic(op, doubleOf(a), doubleOf(b), client, fault);
}

}  // namespace sluice::jinja
