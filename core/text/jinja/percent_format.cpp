// format % arguments, and what it shares with str.format: padding and escaping.

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "core/text/jinja/formatting.h"

namespace sluice::jinja {

Result<Text> escapedText(Run& run, const Value& value) {
  Text text = TRY(run.str(value));
  if (value.isString() && value.as<StringObject>().safe) return text;
  TRY(run.touch(text.size() * 4));
  TRY(run.ask(text.size() * 6));
  Text out;
  for (std::size_t at = 0; at < text.size(); ++at) {
    switch (text.bytes()[at]) {
      case '&': out.append("&amp;", text.markupAt(at)); break;
      case '<': out.append("&lt;", text.markupAt(at)); break;
      case '>': out.append("&gt;", text.markupAt(at)); break;
      case '\'': out.append("&#39;", text.markupAt(at)); break;
      case '"': out.append("&#34;", text.markupAt(at)); break;
      default: out.append(text, at, 1);
    }
  }
  return out;
}

Result<Text> padded(Run& run, const Text& text, std::int64_t width, char align, const Text& fill, std::size_t head) {
  const auto length = static_cast<std::int64_t>(countCharacters(text.view()));
  if (width <= length) return text;
  const std::int64_t total = width - length;
  TRY(run.ask(2 * (static_cast<std::uint64_t>(std::min<std::int64_t>(total, std::int64_t{1} << 40)) * fill.size() + text.weight())));
  TRY(run.touch(static_cast<std::uint64_t>(total) * fill.size() * 8));
  std::int64_t left = 0;
  if (align == '>' || align == '=') left = total;
  if (align == '^') left = total / 2;
  if (align == 'c') left = total / 2 + (total & width & 1);  // str.center
  Text out = text.slice(0, head);
  for (std::int64_t i = 0; i < left; ++i) out.append(fill);
  out.append(text, head, text.size() - head);
  for (std::int64_t i = left; i < total; ++i) out.append(fill);
  return out;
}

namespace {

/// One %-directive, read.
struct Directive {
  bool minus = false, plus = false, space = false, zero = false, alternate = false;
  std::optional<std::int64_t> width, precision;
  char code = 0;
};

class Formatter {
 public:
  Formatter(Run& run, const Text& format, const Value& argument) : run_(run), format_(format), argument_(argument) {}

  Result<Text> format() {
    TRY(run_.touch(format_.size() * 4));
    Text out;
    while (at_ < format_.size()) {
      const std::size_t percent = std::min(format_.view().find('%', at_), format_.size());
      out.append(format_, at_, percent - at_);
      at_ = percent;
      if (at_ < format_.size()) {
        const Text piece = TRY(directive());
        TRY(run_.ask(2 * (out.weight() + piece.weight())));
        out.append(piece);
      }
    }
    const bool tuple = argument_.is(Kind::Tuple);
    const std::size_t available = tuple ? argument_.items().size() : 1;
    // A lone argument that is a container may stay unused; anything else must have been taken.
    const bool may_stay = argument_.is(Kind::Dict) || argument_.is(Kind::List) || argument_.is(Kind::Range) || argument_.isUndefined();
    if (!named_ && !may_stay && taken_ < available) return run_.fail("not all arguments converted during string formatting");
    return out;
  }

 private:
  Result<Value> take() {
    if (argument_.is(Kind::Tuple)) {
      if (taken_ >= argument_.items().size()) return run_.fail("not enough arguments for format string");
      return argument_.items()[taken_++];
    }
    if (taken_++ > 0) return run_.fail("not enough arguments for format string");
    return argument_;
  }

  char next() { return at_ < format_.size() ? format_.bytes()[at_++] : '\0'; }
  char peek() const { return at_ < format_.size() ? format_.bytes()[at_] : '\0'; }

  /// Digits or '*'.
  Result<std::optional<std::int64_t>> number() {
    if (peek() == '*') {
      ++at_;
      const Value value = TRY(take());
      const auto given = indexOf(value);
      if (!given) return run_.fail("* wants int");
      return given;
    }
    std::optional<std::int64_t> value;
    while (peek() >= '0' && peek() <= '9') {
      value = value.value_or(0) * 10 + (next() - '0');
      if (*value > INT32_MAX) return run_.fail("width too big");
    }
    return value;
  }

  Result<Text> directive() {
    const bool markup = format_.markupAt(at_);
    ++at_;
    std::optional<Value> named;
    if (peek() == '(') {
      int depth = 1;
      const std::size_t start = ++at_;
      while (at_ < format_.size() && depth > 0) {
        const char c = next();
        depth += c == '(' ? 1 : c == ')' ? -1 : 0;
      }
      if (depth > 0) return run_.fail("incomplete format key");
      if (!argument_.is(Kind::Dict)) return run_.fail("format requires a mapping");
      const Value* found = argument_.as<DictObject>().find(format_.view().substr(start, at_ - 1 - start));
      if (found == nullptr) return run_.fail(fmt::format("KeyError: '{}'", format_.view().substr(start, std::min<std::size_t>(at_ - 1 - start, 200))));
      named = *found;
      named_ = true;
    }
    Directive d;
    for (bool flags = true; flags;) {
      switch (peek()) {
        case '-': d.minus = true; break;
        case '+': d.plus = true; break;
        case ' ': d.space = true; break;
        case '0': d.zero = true; break;
        case '#': d.alternate = true; break;
        default: flags = false;
      }
      if (flags) ++at_;
    }
    d.width = TRY(number());
    if (d.width && *d.width < 0) {
      d.minus = true;
      d.width = -std::max<std::int64_t>(*d.width, -INT32_MAX);
    }
    if (peek() == '.') {
      ++at_;
      d.precision = std::max<std::int64_t>(TRY(number()).value_or(0), 0);
    }
    if (peek() == 'l' || peek() == 'h' || peek() == 'L') ++at_;
    d.code = next();
    if (d.code == '\0') return run_.fail("incomplete format");
    if (d.code == '%') return Text("%", markup);
    return conversion(d, named ? *named : TRY(take()));
  }

  Result<Text> conversion(const Directive& d, const Value& value) {
    TRY(run_.step(value.is(Kind::Big) ? weightOf(value) : 1));
    Text text;
    bool number = true;
    switch (d.code) {
      case 's':
      case 'r':
      case 'a': {
        text = d.code == 's' ? TRY(run_.str(value)) : TRY(run_.repr(value));
        if (d.precision) text = text.slice(0, byteOffset(text.view(), static_cast<std::size_t>(*d.precision)));
        number = false;
        break;
      }
      case 'c': {
        number = false;
        if (value.isString() && value.as<StringObject>().characters == 1) {
          text = value.text();
          break;
        }
        const auto code = value.isIntegral() ? indexOf(value) : std::nullopt;
        if (!code || *code < 0 || *code > 0x10FFFF || (*code >= 0xD800 && *code <= 0xDFFF)) return run_.fail("%c requires int or char");
        std::string spelled;
        appendUtf8(spelled, static_cast<char32_t>(*code));
        text = Text(std::move(spelled), false);
        break;
      }
      case 'd':
      case 'i':
      case 'u':
      case 'x':
      case 'X':
      case 'o': text = TRY(integer(d, value)); break;
      case 'e':
      case 'E':
      case 'f':
      case 'F':
      case 'g':
      case 'G': {
        if (!value.isNumber()) return run_.failType("must be real number", value);
        if (d.precision.value_or(0) > 400) return run_.fail("precision too large");
        const double real = doubleOf(value);
        text = Text(spellReal(real, d.code, static_cast<int>(d.precision.value_or(6)), d.alternate), !value.client());
        text = signedText(d, text);
        break;
      }
      default: return run_.fail(fmt::format("unsupported format character '{}'", d.code));
    }
    const bool zeros = d.zero && number && !d.minus;
    if (!zeros) return padded(run_, text, d.width.value_or(0), d.minus ? '<' : '>', Text(" ", true));
    std::size_t head = std::string_view("+- ").find(text.bytes()[0]) != std::string_view::npos ? 1 : 0;
    if (d.alternate && (d.code == 'x' || d.code == 'X' || d.code == 'o')) head += 2;
    return padded(run_, text, d.width.value_or(0), '=', Text("0", true), head);
  }

  static Text signedText(const Directive& d, const Text& text) {
    if (text.bytes()[0] == '-' || (!d.plus && !d.space)) return text;
    Text out(d.plus ? "+" : " ", text.markupAt(0));
    out.append(text);
    return out;
  }

  Result<Text> integer(const Directive& d, const Value& value) {
    BigInt number;
    if (value.is(Kind::Float) && (d.code == 'd' || d.code == 'i' || d.code == 'u')) {
      if (!std::isfinite(value.asFloat())) return run_.fail("cannot convert float infinity or NaN to integer");
      number = BigInt::truncate(value.asFloat());
    } else if (value.isIntegral()) {
      number = bigOf(value);
    } else {
      return run_.failType(fmt::format("%{} format: an integer is required", d.code), value);
    }
    const int base = d.code == 'o' ? 8 : d.code == 'x' || d.code == 'X' ? 16 : 10;
    const bool negative = number.negative();
    std::string digits = (negative ? number.negated() : number).digits(base);
    if (d.precision.value_or(0) > static_cast<std::int64_t>(digits.size())) {
      TRY(run_.ask(static_cast<std::uint64_t>(*d.precision)));
      digits.insert(0, static_cast<std::size_t>(*d.precision) - digits.size(), '0');
    }
    const std::string_view prefix = !d.alternate || base == 10 ? "" : base == 8 ? "0o" : "0x";
    std::string spelled = fmt::format("{}{}", prefix, digits);
    if (d.code == 'X') std::transform(spelled.begin(), spelled.end(), spelled.begin(), [](char c) { return c >= 'a' && c <= 'z' ? static_cast<char>(c - 32) : c; });
    return signedText(d, Text((negative ? "-" : "") + spelled, !value.client()));
  }

  Run& run_;
  const Text& format_;
  const Value& argument_;
  std::size_t at_ = 0;
  std::size_t taken_ = 0;
  bool named_ = false;
};

}  // namespace

Result<Value> percentFormat(Run& run, const Value& format, const Value& argument) {
  return run.string(TRY(Formatter(run, format.text(), argument).format()), format.as<StringObject>().safe);
}

}  // namespace sluice::jinja
