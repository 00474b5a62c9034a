#pragma once
// Python's numbers: spelling, reading, comparing and arithmetic.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/text/jinja/value.h"

namespace sluice::jinja {

/// repr(float): the shortest digits that read back, 1.0, 1e-07, 1e+16, inf, nan.
std::string spellFloat(double value);
/// repr of an Int, Big, Bool or Float.
std::string spellNumber(const Value& value);
/// -1, 0, 1, exact over int and float; nothing with NaN.
std::optional<int> compareNumbers(const Value& a, const Value& b);
/// The smallest kind that holds `number`.
Value integerValue(BigInt number, bool client);

/// int(text, base) and float(text) as Python reads them: white space, sign, underscores, prefixes, inf, nan.
std::optional<Value> readInteger(std::string_view text, int base);
std::optional<double> readFloat(std::string_view text);
/// Python's round(value, digits) of a float, half to even on the exact binary value.
double roundFloat(double value, int digits);

/// printf's forms as Python spells them. code: e E f F g G; `alternate` keeps the point and the zeros of g.
std::string spellReal(double value, char code, int precision, bool alternate);

enum class Operator : std::uint8_t { Add, Sub, Mul, Div, FloorDiv, Mod, Pow };
std::string_view spelling(Operator op);
/// Arithmetic of two numbers. `fault` says why not (division by zero, too large).
std::optional<Value> arithmetic(Operator op, const Value& a, const Value& b, std::string& fault);

}  // namespace sluice::jinja
