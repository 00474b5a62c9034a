// str.format: replacement fields and format specifications.

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "core/text/jinja/formatting.h"

namespace sluice::jinja {

namespace {

/// [[fill]align][sign][z][#][0][width][grouping][.precision][type]
struct Spec {
  Text fill;
  char align = 0, sign = '-', grouping = 0, type = 0;
  bool alternate = false, zero = false;
  std::optional<std::int64_t> width, precision;
};

class BraceFormatter {
 public:
  BraceFormatter(Run& run, Arguments& arguments) : run_(run), arguments_(arguments) {}

  Result<Text> format(const Text& text, int depth) {
    TRY(run_.touch(text.size() * 4));
    if (depth > 2) return run_.fail("Max string recursion exceeded");
    Text out;
    const std::string& bytes = text.bytes();
    for (std::size_t at = 0; at < bytes.size();) {
      const std::size_t brace = std::min(bytes.find_first_of("{}", at), bytes.size());
      out.append(text, at, brace - at);
      at = brace;
      if (at >= bytes.size()) break;
      if (at + 1 < bytes.size() && bytes[at + 1] == bytes[at]) {
        out.append(text, at, 1);
        at += 2;
        continue;
      }
      if (bytes[at] == '}') return run_.fail("Single '}' encountered in format string");
      std::size_t end = at + 1;
      for (int open = 1; end < bytes.size(); ++end) {
        if (bytes[end] == '{') ++open;
        if (bytes[end] == '}' && --open == 0) break;
      }
      if (end >= bytes.size()) return run_.fail(at + 1 == bytes.size() ? "Single '{' encountered in format string" : "expected '}' before end of string");
      const Text piece = TRY(field(text.slice(at + 1, end - at - 1), depth));
      TRY(run_.ask(2 * (out.weight() + piece.weight())));
      out.append(piece);
      at = end + 1;
    }
    return out;
  }

 private:
  Result<Text> field(const Text& text, int depth) {
    const std::string& bytes = text.bytes();
    std::size_t end = 0;
    for (int brackets = 0; end < bytes.size(); ++end) {
      if (bytes[end] == '[') ++brackets;
      if (bytes[end] == ']') --brackets;
      if (brackets <= 0 && (bytes[end] == '!' || bytes[end] == ':')) break;
      if (bytes[end] == '{') return run_.fail("unexpected '{' in field name");
    }
    Value value = TRY(lookUp(bytes.substr(0, end)));
    if (end < bytes.size() && bytes[end] == '!') {
      const char conversion = end + 1 < bytes.size() ? bytes[end + 1] : '\0';
      if (conversion != 's' && conversion != 'r' && conversion != 'a') return run_.fail("Unknown conversion specifier");
      value = TRY(run_.string(conversion == 's' ? TRY(run_.str(value)) : TRY(run_.repr(value))));
      end += 2;
      if (end < bytes.size() && bytes[end] != ':') return run_.fail("expected ':' after conversion specifier");
    }
    const Text spec = end < bytes.size() ? TRY(format(text.slice(end + 1, bytes.size() - end - 1), depth + 1)) : Text();
    return formatted(value, spec);
  }

  Result<Value> lookUp(const std::string& path) {
    std::size_t at = std::min(path.find_first_of(".["), path.size());
    Value value = TRY(base(path.substr(0, at)));
    while (at < path.size()) {
      if (path[at] == '.') {
        const std::size_t end = std::min(path.find_first_of(".[", at + 1), path.size());
        if (end == at + 1) return run_.fail("Empty attribute in format string");
        value = TRY(run_.getAttribute(value, path.substr(at + 1, end - at - 1)));
        at = end;
      } else if (path[at] == '[') {
        const std::size_t end = path.find(']', at);
        if (end == std::string::npos) return run_.fail("Missing ']' in format string");
        const std::string key = path.substr(at + 1, end - at - 1);
        if (key.empty()) return run_.fail("Empty attribute in format string");
        const auto index = key.find_first_not_of("0123456789") == std::string::npos ? readInteger(key, 10) : std::nullopt;
        value = TRY(run_.getItem(value, index ? *index : TRY(run_.string(key, true))));
        at = end + 1;
      } else {
        return run_.fail("Only '.' or '[' may follow ']' in format field specifier");
      }
    }
    return value;
  }

  Result<Value> base(const std::string& name) {
    if (name.empty() || name.find_first_not_of("0123456789") == std::string::npos) {
      const bool automatic = name.empty();
      if ((automatic && numbered_) || (!automatic && next_ > 0)) return run_.fail("cannot switch between automatic field numbering and manual field specification");
      if (!automatic) numbered_ = true;
      const std::size_t index = automatic ? next_++ : name.size() > 9 ? SIZE_MAX : std::stoul(name);
      if (index >= arguments_.positional.size()) return run_.fail("Replacement index out of range for positional args tuple");
      return arguments_.positional[index];
    }
    for (const auto& [key, value] : arguments_.named)
      if (key == name) return value;
    return run_.fail(fmt::format("KeyError: '{}'", name.substr(0, 200)));
  }

  Result<Spec> parse(const Text& text) {
    Spec spec;
    const std::string& s = text.bytes();
    std::size_t at = 0;
    const auto is_align = [](char c) { return c == '<' || c == '>' || c == '^' || c == '='; };
    const std::size_t first = s.empty() ? 0 : decodeAt(s, 0).bytes;
    spec.fill = Text(" ", true);
    if (first > 0 && first < s.size() && is_align(s[first])) {
      spec.fill = text.slice(0, first);
      spec.align = s[first];
      at = first + 1;
    } else if (!s.empty() && is_align(s[0])) {
      spec.align = s[at++];
    }
    const auto peek = [&] { return at < s.size() ? s[at] : '\0'; };
    if (peek() == '+' || peek() == '-' || peek() == ' ') spec.sign = s[at++];
    if (peek() == '#') {
      spec.alternate = true;
      ++at;
    }
    if (peek() == '0') {
      spec.zero = true;
      ++at;
    }
    const auto number = [&]() -> Result<std::optional<std::int64_t>> {
      std::optional<std::int64_t> value;
      while (peek() >= '0' && peek() <= '9') {
        value = value.value_or(0) * 10 + (s[at++] - '0');
        if (*value > INT32_MAX) return run_.fail("Too many decimal digits in format string");
      }
      return value;
    };
    spec.width = TRY(number());
    if (peek() == ',' || peek() == '_') spec.grouping = s[at++];
    if (peek() == '.') {
      ++at;
      spec.precision = TRY(number());
      if (!spec.precision) return run_.fail("Format specifier missing precision");
    }
    if (at < s.size()) spec.type = s[at++];
    if (at < s.size()) return run_.fail("Invalid format specifier");
    return spec;
  }

  Result<Text> formatted(const Value& value, const Text& spec_text) {
    if (spec_text.empty()) return run_.str(value);
    const Spec spec = TRY(parse(spec_text));
    if (value.isString()) return formattedText(value.text(), spec);
    if (value.isNumber() && !(value.is(Kind::Bool) && spec.type == 0)) return formattedNumber(value, spec);
    if (value.is(Kind::Bool)) return formattedNumber(value, spec);
    return run_.fail(fmt::format("unsupported format string passed to {}.__format__", typeName(value)));
  }

  Result<Text> formattedText(Text text, const Spec& spec) {
    if ((spec.type != 0 && spec.type != 's') || spec.grouping != 0) return run_.fail(fmt::format("Unknown format code '{}' for object of type 'str'", spec.type));
    if (spec.sign != '-' || spec.alternate || spec.align == '=') return run_.fail("this specification is not allowed for text");
    if (spec.precision) text = text.slice(0, byteOffset(text.view(), static_cast<std::size_t>(*spec.precision)));
    const Text zero("0", true);
    return padded(run_, text, spec.width.value_or(0), spec.align == 0 ? '<' : spec.align, spec.zero && spec.align == 0 ? zero : spec.fill);
  }

  static void group(std::string& digits, char separator, std::size_t each) {
    std::size_t whole = 0;
    while (whole < digits.size() && std::isxdigit(static_cast<unsigned char>(digits[whole])) != 0 && !(each == 3 && digits[whole] == 'e')) ++whole;
    for (std::size_t at = whole; at > each; at -= each) digits.insert(at - each, 1, separator);
  }

  Result<Text> formattedNumber(const Value& value, const Spec& spec) {
    std::string digits, prefix;
    bool negative = false;
    const bool real = value.is(Kind::Float) || (spec.type != 0 && std::string_view("eEfFgG%").find(spec.type) != std::string_view::npos);
    if (real) {
      if (spec.precision.value_or(0) > 400) return run_.fail("precision too big");
      double number = doubleOf(value);
      negative = std::signbit(number) && !std::isnan(number);
      number = std::fabs(number);
      const int precision = static_cast<int>(spec.precision.value_or(6));
      if (spec.type == 0 && !spec.precision) {
        digits = spellFloat(number);
      } else if (spec.type == '%') {
        digits = spellReal(number * 100, 'f', precision, spec.alternate) + "%";
      } else if (spec.type == 0) {  // repr-like: at least one digit after the point, exponents from `precision` on
        digits = spellReal(number, 'g', precision, spec.alternate);
        if (std::isfinite(number) && digits.find_first_of(".e") == std::string::npos) {
          digits = static_cast<int>(digits.size()) >= precision ? spellReal(number, 'e', std::max(precision - 1, 0), false) : digits + ".0";
        }
      } else if (std::string_view("eEfFgG").find(spec.type) != std::string_view::npos) {
        digits = spellReal(number, spec.type, spec.type == 'g' || spec.type == 'G' ? std::max(precision, 1) : precision, spec.alternate);
      } else {
        return run_.fail(fmt::format("Unknown format code '{}' for object of type 'float'", spec.type));
      }
    } else {
      if (spec.precision) return run_.fail("Precision not allowed in integer format specifier");
      const BigInt number = bigOf(value);
      negative = number.negative();
      int base = 10;
      switch (spec.type) {
        case 0:
        case 'd':
        case 'n': break;
        case 'x':
        case 'X': base = 16; break;
        case 'o': base = 8; break;
        case 'b': base = 2; break;
        default: return run_.fail(fmt::format("Unknown format code '{}' for object of type 'int'", spec.type));
      }
      digits = (negative ? number.negated() : number).digits(base);
      if (spec.type == 'X') std::transform(digits.begin(), digits.end(), digits.begin(), [](char c) { return c >= 'a' ? static_cast<char>(c - 32) : c; });
      if (spec.alternate && base != 10) prefix = std::string("0") + spec.type;
      if (spec.grouping == ',' && base != 10) return run_.fail("Cannot specify ',' with this type");
      if (spec.grouping != 0) group(digits, spec.grouping, base == 10 ? 3 : 4);
    }
    if (real && spec.grouping != 0) group(digits, spec.grouping, 3);
    std::string sign = negative ? "-" : spec.sign == '-' ? "" : std::string(1, spec.sign);
    const bool zeros = spec.zero && spec.align == 0;
    const char align = zeros ? '=' : spec.align == 0 ? '>' : spec.align;
    const Text fill = spec.zero && spec.fill.bytes() == " " ? Text("0", true) : spec.fill;
    if (align != '=') return padded(run_, Text(sign + prefix + digits, !value.client()), spec.width.value_or(0), align, fill);
    Text out(sign + prefix, !value.client());
    const auto taken = static_cast<std::int64_t>(sign.size() + prefix.size());
    out.append(TRY(padded(run_, Text(digits, !value.client()), spec.width.value_or(0) - taken, '>', fill)));
    return out;
  }

  Run& run_;
  Arguments& arguments_;
  std::size_t next_ = 0;
  bool numbered_ = false;
};

}  // namespace

Result<Value> braceFormat(Run& run, const Value& format, Arguments& arguments) {
  return run.string(TRY(BraceFormatter(run, arguments).format(format.text(), 0)), format.as<StringObject>().safe);
}

}  // namespace sluice::jinja
