// Filters that make numbers.

#include <cmath>

#include <fmt/format.h>

#include "core/text/jinja/run.h"

namespace sluice::jinja {

namespace {

Result<Value> absFilter(Run& run, const Value& self, Arguments& arguments) {
  TRY(Bound::bind(run, "abs", arguments, {}));
  if (!self.isNumber()) return run.failType("bad operand type for abs()", self);
  if (self.is(Kind::Float)) return Value::real(std::fabs(self.asFloat()), self.client());
  const BigInt number = bigOf(self);
  return integerValue(number.negative() ? number.negated() : number, self.client());
}

/// int(float), or nothing for what has no integer.
std::optional<Value> truncated(double value, bool client) {
  if (!std::isfinite(value)) return std::nullopt;
  return integerValue(BigInt::truncate(value), client);
}

Result<Value> intFilter(Run& run, const Value& self, Arguments& arguments) {
  const Bound bound = TRY(Bound::bind(run, "int", arguments, {"default", "base"}));
  const Value otherwise = bound.get(0, Value::integer(0));
  const auto base = indexOf(bound.get(1, Value::integer(10)));
  if (!base) return run.failType("int's base is an integer", bound[1]);
  if (self.isUndefined()) return run.fail(self.as<UndefinedObject>().message);
  if (self.isIntegral()) return integerValue(bigOf(self), self.client());
  std::optional<Value> result;
  if (self.is(Kind::Float)) {
    if (std::isinf(self.asFloat())) return run.fail("cannot convert float infinity to integer");
    result = truncated(self.asFloat(), self.client());
  } else if (self.isString()) {
    TRY(run.touch(self.text().size() * 64));
    if (*base == 0 || (*base >= 2 && *base <= 36)) result = readInteger(self.text().view(), static_cast<int>(*base));
    const auto real = result ? std::nullopt : readFloat(self.text().view());
    if (real) result = truncated(*real, false);
    if (result) result->setClient(self.text().anyClient());
  }
  return result ? *result : otherwise;
}

Result<Value> floatFilter(Run& run, const Value& self, Arguments& arguments) {
  const Bound bound = TRY(Bound::bind(run, "float", arguments, {"default"}));
  if (self.isUndefined()) return run.fail(self.as<UndefinedObject>().message);
  if (self.isNumber()) {
    const double value = doubleOf(self);
    if (self.is(Kind::Big) && !std::isfinite(value)) return run.fail("int too large to convert to float");
    return Value::real(value, self.client());
  }
  if (self.isString()) {
    TRY(run.touch(self.text().size()));
    if (const auto value = readFloat(self.text().view())) return Value::real(*value, self.text().anyClient());
  }
  return bound.get(0, Value::real(0.0));
}

Result<Value> roundInteger(Run& run, const Value& self, std::int64_t digits) {
  if (digits >= 0) return integerValue(bigOf(self), self.client());
  if (digits < -static_cast<std::int64_t>(kIntegerDigitsMax)) return Value::integer(0, self.client());
  // To the nearest multiple of 10^-digits, half to the even multiple.
  const Value unit = TRY(run.binary(Operator::Pow, Value::integer(10), Value::integer(-digits)));
  TRY(run.binary(Operator::Mod, self, unit));  // charged as the division below
  BigInt quotient, rest;
  BigInt::divide(bigOf(self), bigOf(unit), quotient, rest);
  const int half = BigInt::compare(rest + rest, bigOf(unit));
  if (half > 0 || (half == 0 && quotient.odd())) quotient = quotient + BigInt(1);
  Value rounded = TRY(run.binary(Operator::Mul, integerValue(quotient, false), unit));
  rounded.setClient(self.client());
  return rounded;
}

Result<Value> roundFilter(Run& run, const Value& self, Arguments& arguments) {
  const Bound bound = TRY(Bound::bind(run, "round", arguments, {"precision", "method"}));
  const Value precision = bound.get(0, Value::integer(0));
  const Text method = bound.has(1) ? TRY(run.str(bound[1])) : Text("common", true);
  if (method.view() != "common" && method.view() != "ceil" && method.view() != "floor") return run.fail("method must be common, ceil or floor");
  if (!self.isNumber()) return run.failType("round takes a number", self);
  const auto digits = indexOf(precision);
  if (!digits) return run.failType("round's precision is an integer", precision);
  TRY(run.step(500));
  if (method.view() == "common") {
    if (!self.is(Kind::Float)) return roundInteger(run, self, *digits);
    return Value::real(roundFloat(self.asFloat(), static_cast<int>(std::clamp<std::int64_t>(*digits, -400, 400))), self.client());
  }
  const Value scale = TRY(run.binary(Operator::Pow, Value::integer(10), precision));
  Value whole = TRY(run.binary(Operator::Mul, self, scale));
  if (whole.is(Kind::Float) && !std::isfinite(whole.asFloat())) return run.fail("cannot convert float infinity to integer");
  if (whole.is(Kind::Float)) whole = *truncated(method.view() == "ceil" ? std::ceil(whole.asFloat()) : std::floor(whole.asFloat()), self.client());
  return run.binary(Operator::Div, whole, scale);
}

Result<Value> fileSizeFilter(Run& run, const Value& self, Arguments& arguments) {
  const Bound bound = TRY(Bound::bind(run, "filesizeformat", arguments, {"binary"}));
  const bool binary = truthy(bound.get(0, Value::boolean(false)));
  std::optional<double> bytes;
  if (self.isNumber()) bytes = doubleOf(self);
  if (self.isString()) bytes = readFloat(self.text().view());
  if (!bytes) return run.failType("filesizeformat takes a number", self);
  if (!std::isfinite(*bytes)) return run.fail("filesizeformat takes a finite number");
  const double base = binary ? 1024 : 1000;
  if (*bytes == 1) return run.string("1 Byte", true);
  if (*bytes < base) return run.string(fmt::format("{} Bytes", BigInt::truncate(*bytes).decimal()), true);
  double unit = base * base;
  static constexpr char kLetters[] = "kMGTPEZY";
  std::size_t i = 0;
  for (; i + 1 < 8 && *bytes >= unit; ++i) unit *= base;
  const char letter = binary && i == 0 ? 'K' : kLetters[i];
  return run.string(fmt::format("{:.1f} {}{}", base * *bytes / unit, letter, binary ? "iB" : "B"), true);
}

constexpr FilterEntry kFilters[] = {
    {"abs", absFilter}, {"filesizeformat", fileSizeFilter}, {"float", floatFilter}, {"int", intFilter}, {"round", roundFilter},
};

}  // namespace

std::span<const FilterEntry> numberFilters() { return kFilters; }

}  // namespace sluice::jinja
