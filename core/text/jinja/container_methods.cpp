// Methods of list, tuple, range, dict and the numbers. Those that would change their object are refused, as the sandbox does.

#include <cmath>

#include <fmt/format.h>

#include "core/text/jinja/run.h"

namespace sluice::jinja {

namespace {

Result<Value> countMethod(Run& run, const Value& self, Arguments& arguments) {
  const Bound bound = TRY(Bound::bind(run, "count", arguments, {"value"}, 1));
  std::int64_t count = 0;
  for (const Value& item : TRY(run.listOf(self)))
    if (TRY(run.compare(Comparison::Equal, item, bound[0]))) ++count;
  return Value::integer(count);
}

Result<Value> indexMethod(Run& run, const Value& self, Arguments& arguments) {
  const Bound bound = TRY(Bound::bind(run, "index", arguments, {"value", "start", "stop"}, 1));
  const std::vector<Value> items = TRY(run.listOf(self));
  const auto size = static_cast<std::int64_t>(items.size());
  std::int64_t ends[2] = {0, size};
  for (std::size_t i = 0; i < 2; ++i) {
    if (!bound.has(i + 1)) continue;
    const auto index = indexOf(bound[i + 1]);
    if (!index) return run.failType("slice indices must be integers", bound[i + 1]);
    ends[i] = *index < 0 ? std::max<std::int64_t>(*index + size, 0) : *index;
  }
  for (std::int64_t i = ends[0]; i < std::min(ends[1], size); ++i)
    if (TRY(run.compare(Comparison::Equal, items[static_cast<std::size_t>(i)], bound[0]))) return Value::integer(i);
  return run.fail(fmt::format("the value is not in {}", typeName(self)));
}

Result<Value> copyMethod(Run& run, const Value& self, Arguments& arguments) {
  TRY(Bound::bind(run, "copy", arguments, {}));
  return self;  // nothing can change it
}

Result<Value> getMethod(Run& run, const Value& self, Arguments& arguments) {
  const Bound bound = TRY(Bound::bind(run, "get", arguments, {"key", "default"}, 1));
  TRY(run.step(weightOf(bound[0])));
  if (!hashKey(bound[0])) return run.fail(fmt::format("unhashable type: '{}'", typeName(bound[0])));
  const Value* found = self.as<DictObject>().find(bound[0]);
  return found != nullptr ? *found : bound.get(1, Value());
}

template <ViewOf kOf>
Result<Value> viewMethod(Run& run, const Value& self, Arguments& arguments) {
  TRY(Bound::bind(run, "view", arguments, {}));
  auto view = run.made<ViewObject>();
  view->dict = self;
  view->of = kOf;
  return Value(Kind::View, std::move(view));
}

Result<Value> fromKeysMethod(Run& run, const Value&, Arguments& arguments) {
  const Bound bound = TRY(Bound::bind(run, "fromkeys", arguments, {"iterable", "value"}, 1));
  auto made = std::make_shared<DictObject>();
  for (const Value& key : TRY(run.listOf(bound[0]))) {
    TRY(run.step(weightOf(key)));
    if (!hashKey(key)) return run.fail(fmt::format("unhashable type: '{}'", typeName(key)));
    made->set(key, bound.get(1, Value()));
  }
  return run.dict(std::move(made));
}

Result<Value> isIntegerMethod(Run& run, const Value& self, Arguments& arguments) {
  TRY(Bound::bind(run, "is_integer", arguments, {}));
  if (!self.is(Kind::Float)) return run.fail("'int object' has no attribute 'is_integer'");
  return Value::boolean(std::isfinite(self.asFloat()) && self.asFloat() == std::trunc(self.asFloat()));
}

Result<Value> bitLengthMethod(Run& run, const Value& self, Arguments& arguments) {
  TRY(Bound::bind(run, "bit_length", arguments, {}));
  if (self.is(Kind::Float)) return run.fail("'float object' has no attribute 'bit_length'");
  return Value::integer(static_cast<std::int64_t>(bigOf(self).bits()));
}

constexpr MethodEntry kListMethods[] = {
    {"index", indexMethod}, {"count", countMethod}, {"copy", copyMethod}, {"append", nullptr},  {"clear", nullptr}, {"pop", nullptr},
    {"reverse", nullptr},   {"insert", nullptr},    {"sort", nullptr},    {"extend", nullptr},  {"remove", nullptr},
};
constexpr MethodEntry kTupleMethods[] = {{"index", indexMethod}, {"count", countMethod}};
constexpr MethodEntry kDictMethods[] = {
    {"get", getMethod},
    {"items", viewMethod<ViewOf::Items>},
    {"keys", viewMethod<ViewOf::Keys>},
    {"values", viewMethod<ViewOf::Values>},
    {"copy", copyMethod},
    {"fromkeys", fromKeysMethod},
    {"clear", nullptr},
    {"pop", nullptr},
    {"popitem", nullptr},
    {"setdefault", nullptr},
    {"update", nullptr},
};
constexpr MethodEntry kNumberMethods[] = {{"is_integer", isIntegerMethod}, {"bit_length", bitLengthMethod}};

}  // namespace

std::span<const MethodEntry> listMethods() { return kListMethods; }
std::span<const MethodEntry> tupleMethods() { return kTupleMethods; }
std::span<const MethodEntry> dictMethods() { return kDictMethods; }
std::span<const MethodEntry> numberMethods() { return kNumberMethods; }

}  // namespace sluice::jinja
