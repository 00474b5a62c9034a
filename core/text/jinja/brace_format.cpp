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
  char align = 0, sign = 0, grouping = 0, type = 0;
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
    TRY(run_.step(value.is(Kind::Big) ? weightOf(value) : 1));
    const Spec spec = TRY(parse(spec_text));
    if (value.isString()) return formattedText(value.text(), spec);
    if (value.isNumber() && !(value.is(Kind::Bool) && spec.type == 0)) return formattedNumber(value, spec);
    if (value.is(Kind::Bool)) return formattedNumber(value, spec);
    return run_.fail(fmt::format("unsupported format string passed to {}.__format__", typeName(value)));
  }

  Result<Text> formattedText(Text text, const Spec& spec) {
    if ((spec.type != 0 && spec.type != 's') || spec.grouping != 0) return run_.fail(fmt::format("Unknown format code '{}' for object of type 'str'", spec.type));
    if (spec.sign != 0 || spec.alternate || spec.align == '=') return run_.fail("this specification is not allowed for text");
    if (spec.precision) text = text.slice(0, byteOffset(text.view(), static_cast<std::size_t>(*spec.precision)));
    const Text zero("0", true);
    return padded(run_, text, spec.width.value_or(0), spec.align == 0 ? '<' : spec.align, spec.zero && spec.align == 0 ? zero : spec.fill);
  }

  /// Separators between the digits before the point; zeros first, so that all of it is at least `width` long.
  Result<Done> group(std::string& digits, char separator, std::size_t each, std::int64_t width) {
    std::size_t whole = 0;
    while (whole < digits.size() && std::isxdigit(static_cast<unsigned char>(digits[whole])) != 0 && !(each == 3 && std::isdigit(static_cast<unsigned char>(digits[whole])) == 0)) ++whole;
    const auto length = [&](std::size_t count) { return static_cast<std::int64_t>(digits.size() - whole + count + (count - 1) / each); };
    if (whole == 0) return Done{};
    std::size_t wanted = whole;
    if (width > length(whole)) {
      TRY(run_.ask(static_cast<std::uint64_t>(width) * 2));
      TRY(run_.touch(static_cast<std::uint64_t>(width) * 64));
      while (length(wanted) < width) ++wanted;
    }
    std::string grouped;
    for (std::size_t i = 0; i < wanted; ++i) {
      if (i > 0 && (wanted - i) % each == 0) grouped.push_back(separator);
      grouped.push_back(i < wanted - whole ? '0' : digits[i - (wanted - whole)]);
    }
    digits = grouped + digits.substr(whole);
    return Done{};
  }

  /// Digits of a float's magnitude.
  Result<std::string> realDigits(double number, const Spec& spec) {
    if (spec.precision.value_or(0) > 400) return run_.fail("precision too big");
    const int precision = static_cast<int>(spec.precision.value_or(6));
    switch (spec.type) {
      case '%': return spellReal(number * 100, 'f', precision, spec.alternate) + "%";
      case 'e':
      case 'E':
      case 'f':
      case 'F': return spellReal(number, spec.type, precision, spec.alternate);
      case 'g':
      case 'G': return spellReal(number, spec.type, std::max(precision, 1), spec.alternate);
      case 'n': return spellReal(number, 'g', std::max(precision, 1), spec.alternate);  // g in the C locale
      case 0: break;
      default: return run_.fail(fmt::format("Unknown format code '{}' for object of type 'float'", spec.type));
    }
    if (!std::isfinite(number)) return spellFloat(number);
    std::string digits = spellFloat(number);
    if (spec.precision) {  // g with at least one digit after the point, so that exponents begin one digit sooner
      const int significant = std::max(precision, 1);
      digits = spellReal(number, 'g', significant, spec.alternate);
      const std::size_t point = std::min(digits.find('.'), digits.size());
      if (digits.find('e') == std::string::npos && number != 0 && digits[0] != '0' && static_cast<int>(point) >= significant) {
        digits = spellReal(number, 'e', significant - 1, spec.alternate);
        const std::size_t e = digits.find('e');
        std::size_t last = e;
        if (!spec.alternate && digits.find('.') < e)
          while (digits[last - 1] == '0' || digits[last - 1] == '.') --last;
        digits.erase(last, e - last);
      } else if (digits.find_first_of(".e") == std::string::npos) {
        digits += ".0";
      }
    }
    if (spec.alternate && digits.find('.') == std::string::npos) digits.insert(std::min(digits.find('e'), digits.size()), 1, '.');
    return digits;
  }

  /// Digits of an integer's magnitude, and its prefix.
  Result<std::string> integerDigits(const BigInt& magnitude, const Spec& spec, std::string& prefix) {
    if (spec.precision) return run_.fail("Precision not allowed in integer format specifier");
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
    if (spec.grouping == ',' && base != 10) return run_.fail("Cannot specify ',' with this type");
    std::string digits = magnitude.digits(base);
    if (spec.type == 'X') std::transform(digits.begin(), digits.end(), digits.begin(), [](char c) { return c >= 'a' ? static_cast<char>(c - 32) : c; });
    if (spec.alternate && base != 10) prefix = std::string("0") + spec.type;
    return digits;
  }

  Result<Text> formattedNumber(const Value& value, const Spec& spec) {
    if (spec.type == 'n' && spec.grouping != 0) return run_.fail(fmt::format("Cannot specify '{}' with 'n'.", spec.grouping));
    if (spec.type == 'c') return formattedCharacter(value, spec);
    std::string digits, prefix;
    bool negative = false;
    if (value.is(Kind::Float) || (spec.type != 0 && std::string_view("eEfFgG%").find(spec.type) != std::string_view::npos)) {
      const double number = doubleOf(value);
      if (value.is(Kind::Big) && !std::isfinite(number)) return run_.fail("int too large to convert to float");
      negative = std::signbit(number) && !std::isnan(number);
      digits = TRY(realDigits(std::fabs(number), spec));
    } else {
      const BigInt number = bigOf(value);
      negative = number.negative();
      digits = TRY(integerDigits(negative ? number.negated() : number, spec, prefix));
    }
    const std::string sign = negative ? "-" : spec.sign == '-' || spec.sign == 0 ? "" : std::string(1, spec.sign);
    const bool zeros = spec.zero && spec.align == 0;
    const char align = zeros ? '=' : spec.align == 0 ? '>' : spec.align;
    const Text fill = spec.zero && spec.fill.bytes() == " " ? Text("0", true) : spec.fill;
    const std::int64_t width = spec.width.value_or(0);
    const std::size_t head = sign.size() + prefix.size();
    if (spec.grouping != 0) {
      const bool binary = spec.type == 'x' || spec.type == 'X' || spec.type == 'o' || spec.type == 'b';
      TRY(group(digits, spec.grouping, binary ? 4 : 3, align == '=' && fill.bytes() == "0" ? width - static_cast<std::int64_t>(head) : 0));
    }
    return padded(run_, Text(sign + prefix + digits, !value.client()), width, align, fill, align == '=' ? head : 0);
  }

  Result<Text> formattedCharacter(const Value& value, const Spec& spec) {
    const auto code = value.isIntegral() ? indexOf(value) : std::nullopt;
    if (!code || *code < 0 || *code > 0x10FFFF || (*code >= 0xD800 && *code <= 0xDFFF)) return run_.fail("%c arg not in range(0x110000)");
    if (spec.sign != 0 || spec.precision || spec.grouping != 0 || spec.alternate) return run_.fail("this specification is not allowed with 'c'");
    std::string spelled;
    appendUtf8(spelled, static_cast<char32_t>(*code));
    const Text fill = spec.zero && spec.fill.bytes() == " " ? Text("0", true) : spec.fill;
    return padded(run_, Text(std::move(spelled), false), spec.width.value_or(0), spec.align == 0 ? (spec.zero ? '=' : '<') : spec.align, fill);
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
