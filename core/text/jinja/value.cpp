#include "core/text/jinja/value.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "core/text/jinja/numbers.h"

namespace sluice::jinja {

Value Value::none(bool client) {
  Value v;
  v.client_ = client;
  return v;
}
Value Value::boolean(bool value, bool client) {
  Value v;
  v.kind_ = Kind::Bool;
  v.client_ = client;
  v.scalar_.boolean = value;
  return v;
}
Value Value::integer(std::int64_t value, bool client) {
  Value v;
  v.kind_ = Kind::Int;
  v.client_ = client;
  v.scalar_.integer = value;
  return v;
}
Value Value::real(double value, bool client) {
  Value v;
  v.kind_ = Kind::Float;
  v.client_ = client;
  v.scalar_.real = value;
  return v;
}

const Text& Value::text() const { return as<StringObject>().text; }
const std::vector<Value>& Value::items() const { return as<ListObject>().items; }

Value literalString(Text text) {
  auto object = std::make_shared<StringObject>();
  object->characters = countCharacters(text.view());
  object->text = std::move(text);
  return Value(Kind::String, std::move(object));
}

Value literalBig(BigInt number) {
  auto object = std::make_shared<BigObject>();
  object->number = std::move(number);
  return Value(Kind::Big, std::move(object));
}

std::int64_t RangeObject::size() const {
  if (step > 0) return start < stop ? (stop - start - 1) / step + 1 : 0;
  return start > stop ? (start - stop - 1) / -step + 1 : 0;
}

std::optional<std::size_t> DictObject::placeOf(const std::string& hash) const {
  if (!index.empty()) {
    const auto found = index.find(hash);
    return found == index.end() ? std::nullopt : std::optional(found->second);
  }
  for (std::size_t i = 0; i < items.size(); ++i)
    if (hashKey(items[i].first) == hash) return i;
  return std::nullopt;
}

const Value* DictObject::find(const Value& key) const {
  if (key.isString()) return find(key.text().view());
  const auto hash = hashKey(key);
  if (!hash) return nullptr;
  const auto place = placeOf(*hash);
  return place ? &items[*place].second : nullptr;
}

const Value* DictObject::find(std::string_view key) const {
  if (!index.empty()) {
    const auto found = index.find(std::string("s").append(key));
    return found == index.end() ? nullptr : &items[found->second].second;
  }
  for (const auto& [name, value] : items)
    if (name.isString() && name.text().view() == key) return &value;
  return nullptr;
}

void DictObject::set(Value key, Value value) {
  const std::string hash = *hashKey(key);
  depth = std::max({depth, 1 + depthOf(value), 1 + depthOf(key)});
  weight += weightOf(key) + weightOf(value);
  if (const auto place = placeOf(hash)) {
    items[*place].second = std::move(value);
    return;
  }
  items.emplace_back(std::move(key), std::move(value));
  if (!index.empty()) {
    index.emplace(hash, items.size() - 1);
  } else if (items.size() >= kIndexedFrom) {
    for (std::size_t i = 0; i < items.size(); ++i) index.emplace(*hashKey(items[i].first), i);
  }
}

std::string_view typeName(const Value& value) {
  switch (value.kind()) {
    case Kind::None: return "NoneType";
    case Kind::Bool: return "bool";
    case Kind::Int:
    case Kind::Big: return "int";
    case Kind::Float: return "float";
    case Kind::String: return value.as<StringObject>().safe ? "Markup" : "str";
    case Kind::List: return "list";
    case Kind::Tuple: return value.as<ListObject>().group ? "_GroupTuple" : "tuple";
    case Kind::Dict: return "dict";
    case Kind::Range: return "range";
    case Kind::View:
      switch (value.as<ViewObject>().of) {
        case ViewOf::Keys: return "dict_keys";
        case ViewOf::Values: return "dict_values";
        case ViewOf::Items: return "dict_items";
      }
      UNREACHABLE();
    case Kind::Iterator: return value.as<IteratorObject>().type;
    case Kind::Undefined: return "Undefined";
    case Kind::Namespace: return "Namespace";
    case Kind::Macro: return "Macro";
    case Kind::Function: return "function";
    case Kind::Method: return "builtin_function_or_method";
    case Kind::Loop: return "LoopContext";
    case Kind::Cycler: return "Cycler";
    case Kind::Joiner: return "Joiner";
  }
  UNREACHABLE();
}

bool truthy(const Value& value) {
  switch (value.kind()) {
    case Kind::None:
    case Kind::Undefined: return false;
    case Kind::Bool: return value.asBool();
    case Kind::Int: return value.asInt() != 0;
    case Kind::Big: return !value.as<BigObject>().number.zero();
    case Kind::Float: return value.asFloat() != 0.0;
    case Kind::String: return !value.text().empty();
    case Kind::List:
    case Kind::Tuple: return !value.items().empty();
    case Kind::Dict: return !value.as<DictObject>().items.empty();
    case Kind::Range: return value.as<RangeObject>().size() != 0;
    case Kind::View: return truthy(value.as<ViewObject>().dict);
    case Kind::Iterator:
    case Kind::Namespace:
    case Kind::Macro:
    case Kind::Function:
    case Kind::Method:
    case Kind::Loop:
    case Kind::Cycler:
    case Kind::Joiner: return true;
  }
  UNREACHABLE();
}

int depthOf(const Value& value) {
  if (value.is(Kind::List) || value.is(Kind::Tuple)) return value.as<ListObject>().depth;
  if (value.is(Kind::Dict)) return value.as<DictObject>().depth;
  if (value.is(Kind::View)) return depthOf(value.as<ViewObject>().dict) + 1;
  if (value.is(Kind::Iterator)) return value.as<IteratorObject>().depth;
  if (value.is(Kind::Method)) return depthOf(value.as<MethodObject>().self) + 1;
  return 0;
}

std::uint64_t weightOf(const Value& value) {
  if (value.isString()) return 1 + value.text().size() / 64;
  if (value.is(Kind::List) || value.is(Kind::Tuple)) return value.as<ListObject>().weight;
  if (value.is(Kind::Dict)) return value.as<DictObject>().weight;
  if (value.is(Kind::View)) return weightOf(value.as<ViewObject>().dict);
  if (value.is(Kind::Big)) {
    const std::uint64_t limbs = value.as<BigObject>().number.bits() / 32 + 1;
    return 1 + limbs * limbs / 16;  // what spelling it costs
  }
  return 1;
}

namespace {

bool equalItems(const std::vector<Value>& a, const std::vector<Value>& b) {
  if (a.size() != b.size()) return false;
  for (std::size_t i = 0; i < a.size(); ++i)
    if (!equal(a[i], b[i])) return false;
  return true;
}

bool equalDicts(const DictObject& a, const DictObject& b) {
  if (a.items.size() != b.items.size()) return false;
  for (const auto& [key, value] : a.items) {
    const Value* other = b.find(key);
    if (other == nullptr || !equal(value, *other)) return false;
  }
  return true;
}

bool equalRanges(const RangeObject& a, const RangeObject& b) {
  if (a.size() != b.size()) return false;
  return a.size() == 0 || (a.start == b.start && (a.size() == 1 || a.step == b.step));
}

}  // namespace

bool equal(const Value& a, const Value& b) {
  if (a.isNumber() && b.isNumber()) return compareNumbers(a, b) == 0;
  if (a.kind() != b.kind()) return false;
  switch (a.kind()) {
    case Kind::None:
    case Kind::Undefined: return true;
    case Kind::String: return a.text().view() == b.text().view();
    case Kind::List:
    case Kind::Tuple: return a.identity() == b.identity() || equalItems(a.items(), b.items());
    case Kind::Dict: return a.identity() == b.identity() || equalDicts(a.as<DictObject>(), b.as<DictObject>());
    case Kind::Range: return equalRanges(a.as<RangeObject>(), b.as<RangeObject>());
    case Kind::View:
      if (a.as<ViewObject>().of != b.as<ViewObject>().of || a.as<ViewObject>().of == ViewOf::Values) return a.identity() == b.identity();
      return equal(a.as<ViewObject>().dict, b.as<ViewObject>().dict);
    case Kind::Bool:
    case Kind::Int:
    case Kind::Big:
    case Kind::Float: UNREACHABLE();  // numbers, above
    case Kind::Method:
      return a.as<MethodObject>().name == b.as<MethodObject>().name && a.as<MethodObject>().self.identity() == b.as<MethodObject>().self.identity();
    case Kind::Iterator:
    case Kind::Namespace:
    case Kind::Macro:
    case Kind::Function:
    case Kind::Loop:
    case Kind::Cycler:
    case Kind::Joiner: return a.identity() == b.identity();
  }
  UNREACHABLE();
}

std::optional<int> order(const Value& a, const Value& b) {
  if (a.isNumber() && b.isNumber()) return compareNumbers(a, b);
  if (a.isString() && b.isString()) {
    const int c = a.text().view().compare(b.text().view());  // UTF-8 sorts as its code points do
    return c < 0 ? -1 : c > 0 ? 1 : 0;
  }
  if (a.kind() != b.kind() || (!a.is(Kind::List) && !a.is(Kind::Tuple))) return std::nullopt;
  const auto &x = a.items(), &y = b.items();
  for (std::size_t i = 0; i < std::min(x.size(), y.size()); ++i)
    if (!equal(x[i], y[i])) return order(x[i], y[i]);
  return x.size() < y.size() ? -1 : x.size() > y.size() ? 1 : 0;
}

std::optional<std::string> hashKey(const Value& value) {
  switch (value.kind()) {
    case Kind::None: return "0";
    case Kind::Undefined: return "u";
    case Kind::String: return std::string("s").append(value.text().view());
    case Kind::Bool: return value.asBool() ? "i1" : "i0";
    case Kind::Int: return "i" + std::to_string(value.asInt());
    case Kind::Big: return "i" + value.as<BigObject>().number.decimal();
    case Kind::Float: {
      const double d = value.asFloat();
      if (std::isfinite(d) && d == std::trunc(d)) return "i" + BigInt::truncate(d).decimal();
      return "f" + spellFloat(d);
    }
    case Kind::Tuple: {
      std::string key = "t";
      for (const Value& item : value.items()) {
        const auto part = hashKey(item);
        if (!part) return std::nullopt;
        key += std::to_string(part->size()) + ":" + *part;
      }
      return key;
    }
    case Kind::Range:
    case Kind::Iterator:
    case Kind::Namespace:
    case Kind::Macro:
    case Kind::Function:
    case Kind::Method:
    case Kind::Loop:
    case Kind::Cycler:
    case Kind::Joiner: {
      char address[24];
      std::snprintf(address, sizeof(address), "p%p", value.identity());
      return std::string(address);
    }
    case Kind::List:
    case Kind::Dict:
    case Kind::View: return std::nullopt;
  }
  UNREACHABLE();
}

}  // namespace sluice::jinja
