// Methods of str that ask what its characters are, and those that pad it.

#include <algorithm>

#include "core/text/jinja/formatting.h"
#include "core/text/jinja/unicode.h"

namespace sluice::jinja {

namespace {

/// True when there are characters and each of them is one of the class.
template <bool (*kIs)(char32_t)>
Result<Value> allMethod(Run& run, const Value& self, Arguments& arguments) {
  TRY(Bound::bind(run, "character test", arguments, {}));
  const std::string_view text = self.text().view();
  TRY(run.touch(text.size() * 8));
  for (std::size_t at = 0; at < text.size(); at += decodeAt(text, at).bytes)
    if (!kIs(decodeAt(text, at).code)) return Value::boolean(false);
  return Value::boolean(!text.empty());
}

bool isAlphaNumeric(char32_t c) { return isAlpha(c) || isNumeric(c); }

Result<Value> isAsciiMethod(Run& run, const Value& self, Arguments& arguments) {
  TRY(Bound::bind(run, "isascii", arguments, {}));
  return Value::boolean(self.as<StringObject>().ascii());
}

Result<Value> isPrintableMethod(Run& run, const Value& self, Arguments& arguments) {
  if (self.text().empty()) return Value::boolean(true);
  return allMethod<isPrintable>(run, self, arguments);
}

Result<Value> isIdentifierMethod(Run& run, const Value& self, Arguments& arguments) {
  if (self.text().empty() || isNumeric(decodeAt(self.text().view(), 0).code)) return Value::boolean(false);
  return allMethod<isWord>(run, self, arguments);
}

template <bool kUpper>
Result<Value> caseMethod(Run& run, const Value& self, Arguments& arguments) {
  return Value::boolean(TRY(run.applyTest(kUpper ? "upper" : "lower", self, arguments)));
}

Result<Value> isTitleMethod(Run& run, const Value& self, Arguments& arguments) {
  TRY(Bound::bind(run, "istitle", arguments, {}));
  const std::string_view text = self.text().view();
  TRY(run.touch(text.size() * 8));
  bool cased = false, previous_cased = false;
  for (std::size_t at = 0; at < text.size(); at += decodeAt(text, at).bytes) {
    const char32_t c = decodeAt(text, at).code;
    const bool capital = isUpper(c) || isTitle(c);
    if (capital ? previous_cased : isLower(c) && !previous_cased) return Value::boolean(false);
    previous_cased = capital || isLower(c);
    cased = cased || previous_cased;
  }
  return Value::boolean(cased);
}

template <char kAlign>
Result<Value> justifyMethod(Run& run, const Value& self, Arguments& arguments) {
  const Bound bound = TRY(Bound::bind(run, "justify", arguments, {"width", "fillchar"}, 1));
  const auto width = indexOf(bound[0]);
  if (!width) return run.failType("the width must be an integer", bound[0]);
  Text fill(" ", true);
  if (bound.has(1)) {
    if (!bound[1].isString() || bound[1].as<StringObject>().characters != 1) return run.fail("The fill character must be exactly one character long");
    fill = bound[1].text();
  }
  return run.string(TRY(padded(run, self.text(), *width, kAlign, fill)), self.as<StringObject>().safe);
}

Result<Value> zeroFillMethod(Run& run, const Value& self, Arguments& arguments) {
  const Bound bound = TRY(Bound::bind(run, "zfill", arguments, {"width"}, 1));
  const auto width = indexOf(bound[0]);
  if (!width) return run.failType("the width must be an integer", bound[0]);
  const bool sign = !self.text().empty() && (self.text().bytes()[0] == '-' || self.text().bytes()[0] == '+');
  return run.string(TRY(padded(run, self.text(), *width, '=', Text("0", true), sign ? 1 : 0)), self.as<StringObject>().safe);
}

Result<Value> expandTabsMethod(Run& run, const Value& self, Arguments& arguments) {
  const Bound bound = TRY(Bound::bind(run, "expandtabs", arguments, {"tabsize"}));
  const auto size = indexOf(bound.get(0, Value::integer(8)));
  if (!size) return run.failType("the tab size must be an integer", bound[0]);
  const Text& text = self.text();
  TRY(run.touch(text.size() * 8));
  Text out;
  std::int64_t column = 0;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t bytes = decodeAt(text.view(), at).bytes;
    const char c = text.bytes()[at];
    if (c == '\t') {
      if (*size > 0) {
        const std::int64_t spaces = *size - column % *size;
        TRY(run.touch(static_cast<std::uint64_t>(spaces)));
        TRY(run.ask(2 * out.weight() + static_cast<std::uint64_t>(spaces)));
        out.append(std::string(static_cast<std::size_t>(spaces), ' '), text.markupAt(at));
        column += spaces;
      }
    } else {
      column = c == '\n' || c == '\r' ? 0 : column + 1;
      out.append(text, at, bytes);
    }
    at += bytes;
  }
  return run.string(std::move(out), self.as<StringObject>().safe);
}

constexpr MethodEntry kMethods[] = {
    {"isdigit", allMethod<isDigit>},
    {"isalpha", allMethod<isAlpha>},
    {"isspace", allMethod<isSpace>},
    {"isalnum", allMethod<isAlphaNumeric>},
    {"isdecimal", allMethod<isDecimal>},
    {"isnumeric", allMethod<isNumeric>},
    {"isascii", isAsciiMethod},
    {"isprintable", isPrintableMethod},
    {"isidentifier", isIdentifierMethod},
    {"islower", caseMethod<false>},
    {"isupper", caseMethod<true>},
    {"istitle", isTitleMethod},
    {"center", justifyMethod<'c'>},
    {"ljust", justifyMethod<'<'>},
    {"rjust", justifyMethod<'>'>},
    {"zfill", zeroFillMethod},
    {"expandtabs", expandTabsMethod},
};

}  // namespace

std::span<const MethodEntry> stringShapeMethods() { return kMethods; }

}  // namespace sluice::jinja
