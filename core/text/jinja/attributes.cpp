// object.name, object[key] and slices, with the sandbox's refusals.

#include <algorithm>

#include <fmt/format.h>

#include "core/text/jinja/run.h"

namespace sluice::jinja {

namespace {

const MethodEntry* findIn(std::span<const MethodEntry> methods, std::string_view name) {
  const auto found = std::find_if(methods.begin(), methods.end(), [&](const MethodEntry& m) { return m.name == name; });
  return found == methods.end() ? nullptr : &*found;
}

const MethodEntry* methodOf(const Value& object, std::string_view name) {
  switch (object.kind()) {
    case Kind::String: {
      const MethodEntry* found = findIn(stringMethods(), name);
      return found != nullptr ? found : findIn(stringShapeMethods(), name);
    }
    case Kind::List: return findIn(listMethods(), name);
    case Kind::Tuple:
    case Kind::Range: return findIn(tupleMethods(), name);
    case Kind::Dict: return findIn(dictMethods(), name);
    case Kind::Bool:
    case Kind::Int:
    case Kind::Big:
    case Kind::Float: return findIn(numberMethods(), name);
    case Kind::None:
    case Kind::View:
    case Kind::Iterator:
    case Kind::Undefined:
    case Kind::Namespace:
    case Kind::Macro:
    case Kind::Function:
    case Kind::Method:
    case Kind::Loop:
    case Kind::Cycler:
    case Kind::Joiner: return nullptr;
  }
  UNREACHABLE();
}

std::string objectName(const Value& object) {
  if (object.is(Kind::None)) return "None";
  return fmt::format("{} object", typeName(object));
}

Result<Value> cyclerNext(Run&, const Value& self, Arguments&) {
  auto& cycler = self.as<CyclerObject>();
  Value item = cycler.items[cycler.position];
  cycler.position = (cycler.position + 1) % cycler.items.size();
  return item;
}

Result<Value> cyclerReset(Run&, const Value& self, Arguments&) {
  self.as<CyclerObject>().position = 0;
  return Value();
}

constexpr MethodEntry kCyclerMethods[] = {{"next", cyclerNext}, {"reset", cyclerReset}};

Result<Value> loopCycle(Run& run, const Value& self, Arguments& arguments) {
  if (arguments.positional.empty()) return run.fail("no items for cycling given");
  return arguments.positional[static_cast<std::size_t>(self.as<LoopObject>().index0) % arguments.positional.size()];
}

Result<Value> loopChanged(Run& run, const Value& self, Arguments& arguments) {
  auto& loop = self.as<LoopObject>();
  Value now = TRY(run.list(arguments.positional, Kind::Tuple));
  if (loop.last_changed && TRY(run.compare(Comparison::Equal, *loop.last_changed, now))) return Value::boolean(false);
  loop.last_changed = std::move(now);
  return Value::boolean(true);
}

constexpr MethodEntry kLoopMethods[] = {{"cycle", loopCycle}, {"changed", loopChanged}};

}  // namespace

Result<Value> Run::loopAttribute(const Value& value, std::string_view name) {
  auto& loop = value.as<LoopObject>();
  const auto ahead = [&]() -> Result<bool> {  // one item in hand, when there is one
    if (loop.ahead_from < loop.ahead.size()) return true;
    Value item;
    if (!TRY(loop.source(item))) return false;
    loop.ahead.assign(1, std::move(item));
    loop.ahead_from = 0;
    return true;
  };
  if (name == "index0") return Value::integer(loop.index0);
  if (name == "index") return Value::integer(loop.index0 + 1);
  if (name == "first") return Value::boolean(loop.index0 == 0);
  if (name == "depth") return Value::integer(loop.depth0 + 1);
  if (name == "depth0") return Value::integer(loop.depth0);
  if (name == "last") return Value::boolean(!TRY(ahead()));
  if (name == "nextitem") return TRY(ahead()) ? loop.ahead[loop.ahead_from] : undefined("there is no next item");
  if (name == "previtem") return loop.index0 == 0 ? undefined("there is no previous item") : loop.before;
  if (name == "length" || name == "revindex" || name == "revindex0") {
    if (!loop.length) {
      std::vector<Value> rest(loop.ahead.begin() + static_cast<std::ptrdiff_t>(loop.ahead_from), loop.ahead.end());
      Value item;
      while (TRY(loop.source(item))) {
        TRY(step());
        if ((rest.size() & 1023) == 1023) TRY(ask(rest.size() * 2 * sizeof(Value)));
        rest.push_back(std::move(item));
      }
      loop.length = loop.index0 + 1 + static_cast<std::int64_t>(rest.size());
      loop.ahead = std::move(rest);
      loop.ahead_from = 0;
    }
    if (name == "length") return Value::integer(*loop.length);
    return Value::integer(*loop.length - loop.index0 - (name == "revindex" ? 0 : 1));
  }
  for (const MethodEntry& entry : kLoopMethods)
    if (entry.name == name) return method(value, entry);
  return undefined(fmt::format("'jinja2.runtime.LoopContext object' has no attribute '{}'", name));
}

/// Python's getattr, save that what the sandbox refuses comes back as an undefined value.
Result<Value> Run::attributeOf(const Value& object, std::string_view name, bool& found) {
  found = true;
  const auto unsafe = [&] {
    return undefined(fmt::format("access to attribute '{}' of '{}' object is unsafe.", name, typeName(object)));
  };
  if (name.size() > 4 && name.substr(0, 2) == "__" && name.substr(name.size() - 2) == "__") return unsafe();
  if (const MethodEntry* entry = methodOf(object, name)) return entry->call == nullptr ? unsafe() : method(object, *entry);
  switch (object.kind()) {
    case Kind::Namespace:
      for (const auto& [attribute, value] : object.as<NamespaceObject>().attributes)
        if (attribute == name) return value;
      break;
    case Kind::Loop: return loopAttribute(object, name);
    case Kind::Cycler:
      for (const MethodEntry& entry : kCyclerMethods)
        if (entry.name == name) return method(object, entry);
      if (name == "current") return object.as<CyclerObject>().items[object.as<CyclerObject>().position];
      break;
    case Kind::Macro: {
      const Callable& callable = *object.as<MacroObject>().callable;
      if (name == "name") return callable.name.empty() ? Value() : TRY(string(callable.name, true));
      if (name == "caller") return Value::boolean(callable.wants_caller);
      if (name == "catch_kwargs") return Value::boolean(callable.wants_kwargs);
      if (name == "catch_varargs") return Value::boolean(callable.wants_varargs);
      if (name == "arguments") {
        std::vector<Value> names;
        for (const std::string& parameter : callable.parameter_names) names.push_back(TRY(string(parameter, true)));
        return list(std::move(names), Kind::Tuple);
      }
      break;
    }
    case Kind::Tuple:
      if (object.as<ListObject>().group && name == "grouper") return object.items()[0];
      if (object.as<ListObject>().group && name == "list") return object.items()[1];
      break;
    case Kind::Range:
      if (name == "start") return Value::integer(object.as<RangeObject>().start);
      if (name == "stop") return Value::integer(object.as<RangeObject>().stop);
      if (name == "step") return Value::integer(object.as<RangeObject>().step);
      break;
    case Kind::Bool:
    case Kind::Int:
    case Kind::Big:
      if (name == "real" || name == "numerator") return integerValue(bigOf(object), object.client());
      if (name == "imag") return Value::integer(0);
      if (name == "denominator") return Value::integer(1);
      break;
    case Kind::Float:
      if (name == "real") return object;
      if (name == "imag") return Value::real(0.0);
      break;
    case Kind::Function:
      if (name == "fromkeys" && object.as<FunctionObject>().name == "dict") return method(object, *findIn(dictMethods(), name));
      break;
    case Kind::None:
    case Kind::String:
    case Kind::List:
    case Kind::Dict:
    case Kind::View:
    case Kind::Iterator:
    case Kind::Undefined:
    case Kind::Method:
    case Kind::Joiner: break;
  }
  found = false;
  return Value();
}

/// Python's object[key] for anything but a slice.
Result<Value> Run::elementOf(const Value& object, const Value& key, bool& found) {
  found = false;
  switch (object.kind()) {
    case Kind::Dict: {
      TRY(step(weightOf(key)));
      const Value* value = object.as<DictObject>().find(key);
      found = value != nullptr;
      return found ? *value : Value();
    }
    case Kind::List:
    case Kind::Tuple:
    case Kind::String:
    case Kind::Range: break;
    case Kind::Undefined: return fail(object.as<UndefinedObject>().message);
    case Kind::None:
    case Kind::Bool:
    case Kind::Int:
    case Kind::Big:
    case Kind::Float:
    case Kind::View:
    case Kind::Iterator:
    case Kind::Namespace:
    case Kind::Macro:
    case Kind::Function:
    case Kind::Method:
    case Kind::Loop:
    case Kind::Cycler:
    case Kind::Joiner: return Value();
  }
  auto index = indexOf(key);
  if (!index) return Value();
  const std::int64_t size = TRY(length(object));
  if (*index < 0) *index += size;
  if (*index < 0 || *index >= size) return Value();
  found = true;
  if (object.is(Kind::Range)) return Value::integer(object.as<RangeObject>().start + *index * object.as<RangeObject>().step);
  if (!object.isString()) return object.items()[static_cast<std::size_t>(*index)];
  const Text& text = object.text();
  std::size_t at = static_cast<std::size_t>(*index);
  if (!object.as<StringObject>().ascii()) {
    TRY(touch(text.size()));
    at = byteOffset(text.view(), at);
  }
  return string(text.slice(at, decodeAt(text.view(), at).bytes), object.as<StringObject>().safe);
}

Result<Value> Run::getAttribute(const Value& object, std::string_view name) {
  TRY(step());
  if (object.isUndefined()) return fail(object.as<UndefinedObject>().message);
  bool found = false;
  Value value = TRY(attributeOf(object, name, found));
  if (found) return value;
  if (object.is(Kind::Dict)) {
    const Value* item = object.as<DictObject>().find(name);
    if (item != nullptr) return *item;
  }
  return undefined(fmt::format("'{}' has no attribute '{}'", objectName(object), name));
}

Result<Value> Run::getItem(const Value& object, const Value& key) {
  TRY(step());
  bool found = false;
  Value value = TRY(elementOf(object, key, found));
  if (found) return value;
  if (key.isString()) {
    value = TRY(attributeOf(object, key.text().view(), found));
    if (found) return value;
    TRY(touch(key.text().size() * 16));
    return undefined(fmt::format("'{}' has no attribute '{}'", objectName(object), key.text().view().substr(0, 1000)));
  }
  return undefined(fmt::format("{} has no element {}", objectName(object), key.isNumber() ? spellNumber(key) : std::string(typeName(key))));
}

Result<Value> Run::getPath(const Value& object, const Value& path, const Value& otherwise) {
  if (path.is(Kind::None)) return object;
  if (!path.isString()) {
    Value item = TRY(getItem(object, path));
    return item.isUndefined() && !otherwise.is(Kind::None) ? otherwise : item;
  }
  const std::string_view view = path.text().view();
  Value value = object;
  for (std::size_t from = 0; from <= view.size();) {
    const std::size_t dot = std::min(view.find('.', from), view.size());
    const std::string_view part = view.substr(from, dot - from);
    const bool digits = !part.empty() && part.find_first_not_of("0123456789") == std::string_view::npos;
    const auto index = digits ? readInteger(part, 10) : std::nullopt;
    value = TRY(getItem(value, index ? *index : TRY(string(path.text().slice(from, part.size())))));
    if (value.isUndefined() && !otherwise.is(Kind::None)) value = otherwise;
    from = dot + 1;
  }
  return value;
}

Result<Value> Run::slice(const Value& object, const Value& start, const Value& stop, const Value& step_value) {
  if (object.isUndefined()) return fail(object.as<UndefinedObject>().message);
  if (object.is(Kind::Dict)) return fail("unhashable type: 'slice'");
  if (!object.isString() && !object.is(Kind::List) && !object.is(Kind::Tuple) && !object.is(Kind::Range))
    return fail(fmt::format("'{}' object is not subscriptable", typeName(object)));
  for (const Value* v : {&start, &stop, &step_value})
    if (!v->is(Kind::None) && !v->isIntegral()) return failType("slice indices must be integers or None", *v);
  const std::int64_t size = TRY(length(object));
  const std::int64_t stride = step_value.is(Kind::None) ? 1 : std::max(*indexOf(step_value), -INT64_MAX);
  if (stride == 0) return fail("slice step cannot be zero");
  const auto bound = [&](const Value& v, std::int64_t otherwise) {
    if (v.is(Kind::None)) return otherwise;
    std::int64_t i = *indexOf(v);
    if (i < 0) i = std::max<std::int64_t>(i + size, stride < 0 ? -1 : 0);
    return std::min(i, stride < 0 ? size - 1 : size);
  };
  const std::int64_t from = bound(start, stride < 0 ? size - 1 : 0), to = bound(stop, stride < 0 ? -1 : size);
  RangeObject places;
  places.start = from;
  places.stop = to;
  places.step = stride;
  const std::int64_t count = places.size();
  if (object.is(Kind::Range)) {
    const auto& range = object.as<RangeObject>();
    auto part = made<RangeObject>();
    part->start = range.start + from * range.step;
    part->stop = range.start + to * range.step;
    // A stride beyond the range takes one item, whatever it is: cut it where products stay small.
    part->step = range.step * std::clamp<std::int64_t>(stride, -(std::int64_t{1} << 31), std::int64_t{1} << 31);
    return Value(Kind::Range, std::move(part));
  }
  if (!object.isString()) {
    std::vector<Value> items;
    for (std::int64_t i = 0; i < count; ++i) items.push_back(object.items()[static_cast<std::size_t>(from + i * stride)]);
    return list(std::move(items), object.kind());
  }
  const Text& text = object.text();
  const bool safe = object.as<StringObject>().safe;
  TRY(touch(text.size()));
  if (count == 0) return string(Text(), safe);
  if (stride == 1) {
    const bool ascii = object.as<StringObject>().ascii();
    const std::size_t first = ascii ? static_cast<std::size_t>(from) : byteOffset(text.view(), static_cast<std::size_t>(from));
    const std::size_t rest = ascii ? static_cast<std::size_t>(count) : byteOffset(text.view().substr(first), static_cast<std::size_t>(count));
    return string(text.slice(first, rest), safe);
  }
  TRY(step(static_cast<std::uint64_t>(size)));
  TRY(ask(static_cast<std::uint64_t>(size) * 12));
  std::vector<std::size_t> offsets;
  for (std::size_t at = 0; at < text.size(); at += decodeAt(text.view(), at).bytes) offsets.push_back(at);
  Text out;
  for (std::int64_t i = 0; i < count; ++i) {
    const std::size_t at = offsets[static_cast<std::size_t>(from + i * stride)];
    out.append(text, at, decodeAt(text.view(), at).bytes);
  }
  return string(std::move(out), safe);
}

}  // namespace sluice::jinja
