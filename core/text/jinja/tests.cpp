// `is` tests.

#include <fmt/format.h>

#include "core/text/jinja/run.h"
#include "core/text/jinja/unicode.h"

namespace sluice::jinja {

namespace {

template <bool (*kHolds)(const Value&)>
Result<bool> plain(Run& run, const Value& self, Arguments& arguments) {
  TRY(Bound::bind(run, "test", arguments, {}));
  return kHolds(self);
}

bool isDefined(const Value& v) { return !v.isUndefined(); }
bool isUndefinedValue(const Value& v) { return v.isUndefined(); }
bool isNone(const Value& v) { return v.is(Kind::None); }
bool isBoolean(const Value& v) { return v.is(Kind::Bool); }
bool isTrue(const Value& v) { return v.is(Kind::Bool) && v.asBool(); }
bool isFalse(const Value& v) { return v.is(Kind::Bool) && !v.asBool(); }
bool isInteger(const Value& v) { return v.is(Kind::Int) || v.is(Kind::Big); }
bool isFloat(const Value& v) { return v.is(Kind::Float); }
bool isText(const Value& v) { return v.isString(); }
bool isMapping(const Value& v) { return v.is(Kind::Dict); }
bool isNumberValue(const Value& v) { return v.isNumber(); }
bool isEscaped(const Value& v) { return v.isString() && v.as<StringObject>().safe; }
bool isSequence(const Value& v) {
  return v.isString() || v.is(Kind::List) || v.is(Kind::Tuple) || v.is(Kind::Dict) || v.is(Kind::Range) || v.isUndefined();
}
bool isIterable(const Value& v) {
  return isSequence(v) || v.is(Kind::View) || v.is(Kind::Iterator) || v.is(Kind::Loop);
}
bool isCallable(const Value& v) {
  return v.is(Kind::Function) || v.is(Kind::Method) || v.is(Kind::Macro) || v.is(Kind::Loop) || v.is(Kind::Joiner) || v.isUndefined();
}

/// value % divisor == wanted.
Result<bool> remainder(Run& run, const Value& self, const Value& divisor, std::int64_t wanted) {
  const Value rest = TRY(run.binary(Operator::Mod, self, divisor));
  return run.compare(Comparison::Equal, rest, Value::integer(wanted));
}

Result<bool> oddTest(Run& run, const Value& self, Arguments& arguments) {
  TRY(Bound::bind(run, "odd", arguments, {}));
  return remainder(run, self, Value::integer(2), 1);
}
Result<bool> evenTest(Run& run, const Value& self, Arguments& arguments) {
  TRY(Bound::bind(run, "even", arguments, {}));
  return remainder(run, self, Value::integer(2), 0);
}
Result<bool> divisibleTest(Run& run, const Value& self, Arguments& arguments) {
  const Bound bound = TRY(Bound::bind(run, "divisibleby", arguments, {"num"}, 1));
  return remainder(run, self, bound[0], 0);
}

template <Comparison kOp>
Result<bool> compareTest(Run& run, const Value& self, Arguments& arguments) {
  const Bound bound = TRY(Bound::bind(run, "comparison", arguments, {"other"}, 1));
  return run.compare(kOp, self, bound[0]);
}

Result<bool> sameTest(Run& run, const Value& self, Arguments& arguments) {
  const Bound bound = TRY(Bound::bind(run, "sameas", arguments, {"other"}, 1));
  if (self.kind() != bound[0].kind()) return false;
  if (self.is(Kind::None)) return true;
  if (self.is(Kind::Bool)) return self.asBool() == bound[0].asBool();
  // Small integers are one object in CPython; what it does with others is nobody's to rely on.
  if (self.is(Kind::Int)) return self.asInt() == bound[0].asInt() && self.asInt() >= -5 && self.asInt() <= 256;
  return self.identity() != nullptr && self.identity() == bound[0].identity();
}

/// islower / isupper: some cased character, and none of the other case.
template <bool kUpper>
Result<bool> caseTest(Run& run, const Value& self, Arguments& arguments) {
  TRY(Bound::bind(run, "case test", arguments, {}));
  const Text text = TRY(run.str(self));
  TRY(run.touch(text.size() * 8));
  bool cased = false;
  for (std::size_t at = 0; at < text.size(); at += decodeAt(text.view(), at).bytes) {
    const char32_t c = decodeAt(text.view(), at).code;
    if (isTitle(c) || (kUpper ? isLower(c) : isUpper(c))) return false;
    cased = cased || (kUpper ? isUpper(c) : isLower(c));
  }
  return cased;
}

Result<bool> filterTest(Run& run, const Value& self, Arguments& arguments) {
  TRY(Bound::bind(run, "filter", arguments, {}));
  if (!hashKey(self)) return run.fail(fmt::format("unhashable type: '{}'", typeName(self)));
  return self.isString() && findFilter(self.text().view()) != nullptr;
}
Result<bool> testTest(Run& run, const Value& self, Arguments& arguments) {
  TRY(Bound::bind(run, "test", arguments, {}));
  if (!hashKey(self)) return run.fail(fmt::format("unhashable type: '{}'", typeName(self)));
  return self.isString() && findTest(self.text().view()) != nullptr;
}

constexpr TestEntry kTests[] = {
    {"defined", plain<isDefined>},
    {"none", plain<isNone>},
    {"string", plain<isText>},
    {"mapping", plain<isMapping>},
    {"undefined", plain<isUndefinedValue>},
    {"iterable", plain<isIterable>},
    {"sequence", plain<isSequence>},
    {"true", plain<isTrue>},
    {"false", plain<isFalse>},
    {"boolean", plain<isBoolean>},
    {"integer", plain<isInteger>},
    {"float", plain<isFloat>},
    {"number", plain<isNumberValue>},
    {"callable", plain<isCallable>},
    {"escaped", plain<isEscaped>},
    {"odd", oddTest},
    {"even", evenTest},
    {"divisibleby", divisibleTest},
    {"lower", caseTest<false>},
    {"upper", caseTest<true>},
    {"sameas", sameTest},
    {"filter", filterTest},
    {"test", testTest},
    {"in", compareTest<Comparison::In>},
    {"==", compareTest<Comparison::Equal>},
    {"eq", compareTest<Comparison::Equal>},
    {"equalto", compareTest<Comparison::Equal>},
    {"!=", compareTest<Comparison::NotEqual>},
    {"ne", compareTest<Comparison::NotEqual>},
    {">", compareTest<Comparison::Greater>},
    {"gt", compareTest<Comparison::Greater>},
    {"greaterthan", compareTest<Comparison::Greater>},
    {">=", compareTest<Comparison::GreaterEqual>},
    {"ge", compareTest<Comparison::GreaterEqual>},
    {"<", compareTest<Comparison::Less>},
    {"lt", compareTest<Comparison::Less>},
    {"lessthan", compareTest<Comparison::Less>},
    {"<=", compareTest<Comparison::LessEqual>},
    {"le", compareTest<Comparison::LessEqual>},
};

}  // namespace

const TestEntry* findTest(std::string_view name) {
  for (const TestEntry& entry : kTests)
    if (entry.name == name) return &entry;
  return nullptr;
}

}  // namespace sluice::jinja
