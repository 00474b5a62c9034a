#include "core/text/jinja/run.h"

#include <algorithm>

#include <fmt/format.h>

namespace sluice::jinja {

const Value* Scope::find(NameId name) const {
  for (const Scope* scope = this; scope != nullptr; scope = scope->parent.get())
    for (const auto& [id, value] : scope->variables)
      if (id == name) return &value;
  return nullptr;
}

void Scope::set(NameId name, Value value) {
  for (auto& [id, slot] : variables) {
    if (id != name) continue;
    slot = std::move(value);
    return;
  }
  variables.emplace_back(name, std::move(value));
}

Run::Run(const Program& program, std::string_view name, std::int64_t now_unix, const Limits& limits)
    : program_(program), name_(name), now_unix_(now_unix), limits_(limits), root_(std::make_shared<Scope>(nullptr)),
      stack_base_(static_cast<const char*>(__builtin_frame_address(0))) {
  for (const FunctionEntry& entry : globalFunctions()) {
    auto function = made<FunctionObject>();
    function->name = entry.name;
    function->call = entry.call;
    bind(entry.name, Value(Kind::Function, std::move(function)));
  }
}

Run::~Run() = default;

void Run::bind(std::string_view name, Value value) {
  const auto found = std::find(program_.names.begin(), program_.names.end(), name);
  if (found != program_.names.end()) root_->set(static_cast<NameId>(found - program_.names.begin()), std::move(value));
}

Result<Text> Run::render() {
  Text out;
  out_ = &out;
  // The template's own variables stand in a scope of their own, over those of the request.
  TRY(exec(program_.body, std::make_shared<Scope>(root_)));
  out_ = nullptr;
  return out;
}

Error Run::fail(std::string_view what) const {
  return Error{Errc::BadRequest, fmt::format("chat template '{}', line {}: {}", name_, line_, what)};
}

Error Run::failType(std::string_view what, const Value& value) const {
  if (value.isUndefined()) return fail(value.as<UndefinedObject>().message);
  return fail(fmt::format("{}, not '{}'", what, typeName(value)));
}

Result<Done> Run::step(std::uint64_t count) {
  steps_ += count;
  if (steps_ > limits_.steps) return fail(fmt::format("the template works without end: more than {} steps", limits_.steps));
  return Done{};
}

Result<Done> Run::ask(std::uint64_t bytes) const {
  if (bytes > limits_.live_bytes || ledger_.live + bytes > limits_.live_bytes)
    return fail(fmt::format("the template's values would take more than {} MiB", limits_.live_bytes >> 20));
  return Done{};
}

Result<Done> Run::checkStack() const {
  const char* here = static_cast<const char*>(__builtin_frame_address(0));
  if (stack_base_ - here > limits_.stack_bytes) return fail("the template calls itself too deeply");
  return Done{};
}

Result<Value> Run::string(Text text, bool safe) {
  TRY(touch(text.size()));
  TRY(ask(text.weight() + sizeof(StringObject)));
  auto object = std::make_shared<StringObject>();
  object->charged = text.weight() + sizeof(StringObject);
  object->ledger = &ledger_;
  ledger_.live += object->charged;
  object->characters = countCharacters(text.view());
  object->text = std::move(text);
  object->safe = safe;
  return Value(Kind::String, std::move(object));
}

Result<Value> Run::list(std::vector<Value> items, Kind kind) {
  TRY(step(1 + items.size()));
  const std::uint64_t bytes = sizeof(ListObject) + items.capacity() * sizeof(Value);
  TRY(ask(bytes));
  auto object = std::make_shared<ListObject>();
  object->ledger = &ledger_;
  object->charged = bytes;
  ledger_.live += bytes;
  for (const Value& item : items) {
    object->depth = std::max(object->depth, 1 + depthOf(item));
    object->weight += weightOf(item);
  }
  object->items = std::move(items);
  if (object->depth > kNestingMax) return fail(fmt::format("a value is nested more than {} levels deep", kNestingMax));
  if (object->weight > kWeightMax) return fail(fmt::format("a value has more than {} parts", kWeightMax));
  return Value(kind, std::move(object));
}

Result<Value> Run::dict(std::shared_ptr<DictObject> dict) {
  TRY(step(1 + dict->items.size()));
  const std::uint64_t bytes = sizeof(DictObject) + dict->items.capacity() * 2 * sizeof(Value) + dict->index.size() * 96;
  TRY(ask(bytes));
  dict->ledger = &ledger_;
  dict->charged = bytes;
  ledger_.live += bytes;
  if (dict->depth > kNestingMax) return fail(fmt::format("a value is nested more than {} levels deep", kNestingMax));
  if (dict->weight > kWeightMax) return fail(fmt::format("a value has more than {} parts", kWeightMax));
  return Value(Kind::Dict, std::move(dict));
}

Result<Value> Run::iterator(const Value& over, std::function<Result<bool>(Value&)> next, std::string_view type) {
  TRY(step());
  TRY(ask(0));
  auto object = made<IteratorObject>();
  object->next = std::move(next);
  object->type = type;
  object->depth = depthOf(over) + 1;
  if (object->depth > kNestingMax) return fail(fmt::format("iterators are nested more than {} levels deep", kNestingMax));
  return Value(Kind::Iterator, std::move(object));
}

Value Run::undefined(std::string message) {
  auto object = made<UndefinedObject>();
  object->message = std::move(message);
  object->message.resize(std::min<std::size_t>(object->message.size(), 1000));
  return Value(Kind::Undefined, std::move(object));
}

Value Run::method(const Value& self, const MethodEntry& entry) {
  auto object = made<MethodObject>();
  object->self = self;
  object->name = entry.name;
  object->call = entry.call;
  return Value(Kind::Method, std::move(object));
}

Result<std::function<Result<bool>(Value&)>> Run::iterate(const Value& value) {
  using Source = std::function<Result<bool>(Value&)>;
  switch (value.kind()) {
    case Kind::Undefined: return Source([](Value&) -> Result<bool> { return false; });
    case Kind::List:
    case Kind::Tuple:
      return Source([value, at = std::size_t{0}](Value& out) mutable -> Result<bool> {
        if (at >= value.items().size()) return false;
        out = value.items()[at++];
        return true;
      });
    case Kind::String:
      return Source([this, value, at = std::size_t{0}](Value& out) mutable -> Result<bool> {
        const Text& text = value.text();
        if (at >= text.size()) return false;
        const std::size_t bytes = decodeAt(text.view(), at).bytes;
        out = TRY(string(text.slice(at, bytes)));
        at += bytes;
        return true;
      });
    case Kind::Dict:
    case Kind::View: {
      const Value dict_value = value.is(Kind::Dict) ? value : value.as<ViewObject>().dict;
      const ViewOf of = value.is(Kind::Dict) ? ViewOf::Keys : value.as<ViewObject>().of;
      return Source([this, dict_value, of, at = std::size_t{0}](Value& out) mutable -> Result<bool> {
        const auto& items = dict_value.as<DictObject>().items;
        if (at >= items.size()) return false;
        const auto& [key, item] = items[at++];
        if (of == ViewOf::Items) {
          out = TRY(list({key, item}, Kind::Tuple));
        } else {
          out = of == ViewOf::Keys ? key : item;
        }
        return true;
      });
    }
    case Kind::Range: {
      const auto& range = value.as<RangeObject>();
      return Source([at = range.start, step = range.step, left = range.size()](Value& out) mutable -> Result<bool> {
        if (left-- <= 0) return false;
        out = Value::integer(at);
        at += step;
        return true;
      });
    }
    case Kind::Iterator:
      return Source([this, value](Value& out) -> Result<bool> {
        TRY(checkStack());
        TRY(step());
        return value.as<IteratorObject>().next(out);
      });
    case Kind::Loop:
      return Source([this, value](Value& out) -> Result<bool> {
        Value item;
        if (!TRY(loopNext(*this, value.as<LoopObject>(), item))) return false;
        out = TRY(list({item, value}, Kind::Tuple));
        return true;
      });
    case Kind::None:
    case Kind::Bool:
    case Kind::Int:
    case Kind::Big:
    case Kind::Float:
    case Kind::Namespace:
    case Kind::Macro:
    case Kind::Function:
    case Kind::Method:
    case Kind::Cycler:
    case Kind::Joiner: return fail(fmt::format("'{}' object is not iterable", typeName(value)));
  }
  UNREACHABLE();
}

Result<std::vector<Value>> Run::listOf(const Value& value) {
  if (value.is(Kind::List) || value.is(Kind::Tuple)) return value.items();
  std::vector<Value> items;
  auto next = TRY(iterate(value));
  Value item;
  while (TRY(next(item))) {
    TRY(step());
    if ((items.size() & 255) == 255) TRY(ask(items.size() * 2 * sizeof(Value)));
    items.push_back(std::move(item));
  }
  return items;
}

Result<std::int64_t> Run::length(const Value& value) {
  switch (value.kind()) {
    case Kind::Undefined: return std::int64_t{0};
    case Kind::String: return static_cast<std::int64_t>(value.as<StringObject>().characters);
    case Kind::List:
    case Kind::Tuple: return static_cast<std::int64_t>(value.items().size());
    case Kind::Dict: return static_cast<std::int64_t>(value.as<DictObject>().items.size());
    case Kind::View: return length(value.as<ViewObject>().dict);
    case Kind::Range: return value.as<RangeObject>().size();
    case Kind::Loop: return TRY(getAttribute(value, "length")).asInt();
    case Kind::None:
    case Kind::Bool:
    case Kind::Int:
    case Kind::Big:
    case Kind::Float:
    case Kind::Iterator:
    case Kind::Namespace:
    case Kind::Macro:
    case Kind::Function:
    case Kind::Method:
    case Kind::Cycler:
    case Kind::Joiner: return fail(fmt::format("object of type '{}' has no len()", typeName(value)));
  }
  UNREACHABLE();
}

Result<bool> Run::contains(const Value& container, const Value& item) {
  if (container.isString()) {
    if (!item.isString()) return failType("'in <string>' requires string as left operand", item);
    TRY(touch(container.text().size() * 4));
    return findBytes(container.text().view(), item.text().view(), 0) != std::string_view::npos;
  }
  const bool keys = container.is(Kind::Dict) || (container.is(Kind::View) && container.as<ViewObject>().of == ViewOf::Keys);
  if (keys) {
    const Value& dict_value = container.is(Kind::Dict) ? container : container.as<ViewObject>().dict;
    TRY(step(weightOf(item) + (dict_value.as<DictObject>().index.empty() ? dict_value.as<DictObject>().items.size() : 1)));
    if (!hashKey(item)) return fail(fmt::format("unhashable type: '{}'", typeName(item)));
    return dict_value.as<DictObject>().find(item) != nullptr;
  }
  if (container.is(Kind::None) || container.isNumber()) return fail(fmt::format("argument of type '{}' is not iterable", typeName(container)));
  auto next = TRY(iterate(container));
  Value candidate;
  while (TRY(next(candidate))) {
    TRY(step(std::min(weightOf(candidate), weightOf(item))));
    const bool same = candidate.kind() == item.kind() && candidate.identity() != nullptr && candidate.identity() == item.identity();
    if (same || equal(candidate, item)) return true;
  }
  return false;
}

Result<bool> Run::compare(Comparison op, const Value& a, const Value& b) {
  TRY(step(std::min(weightOf(a), weightOf(b))));
  switch (op) {
    case Comparison::Equal: return equal(a, b);
    case Comparison::NotEqual: return !equal(a, b);
    case Comparison::In: return contains(b, a);
    case Comparison::NotIn: return !TRY(contains(b, a));
    case Comparison::Less:
    case Comparison::LessEqual:
    case Comparison::Greater:
    case Comparison::GreaterEqual: break;
  }
  for (const Value* v : {&a, &b})
    if (v->isUndefined()) return fail(v->as<UndefinedObject>().message);
  const auto sign = order(a, b);
  if (!sign) {
    if (a.isNumber() && b.isNumber()) return false;  // NaN
    static constexpr std::string_view kSpelled[] = {"==", "!=", "<", "<=", ">", ">="};
    return fail(fmt::format("'{}' not supported between instances of '{}' and '{}'", kSpelled[static_cast<std::size_t>(op)], typeName(a), typeName(b)));
  }
  if (op == Comparison::Less) return *sign < 0;
  if (op == Comparison::LessEqual) return *sign <= 0;
  return op == Comparison::Greater ? *sign > 0 : *sign >= 0;
}

std::optional<std::int64_t> indexOf(const Value& value) {
  if (value.is(Kind::Int)) return value.asInt();
  if (value.is(Kind::Bool)) return value.asBool() ? 1 : 0;
  if (value.is(Kind::Big)) return value.as<BigObject>().number.negative() ? INT64_MIN : INT64_MAX;
  return std::nullopt;
}

Result<Bound> Bound::bind(Run& run, std::string_view callee, Arguments& arguments, std::initializer_list<std::string_view> names, std::size_t required) {
  Bound bound;
  bound.values_.resize(names.size());
  if (arguments.positional.size() > names.size())
    return run.fail(fmt::format("{}() takes at most {} arguments ({} given)", callee, names.size(), arguments.positional.size()));
  for (std::size_t i = 0; i < arguments.positional.size(); ++i) bound.values_[i] = arguments.positional[i];
  for (auto& [name, value] : arguments.named) {
    const auto found = std::find(names.begin(), names.end(), name);
    if (found == names.end()) return run.fail(fmt::format("{}() got an unexpected keyword argument '{}'", callee, name));
    auto& slot = bound.values_[static_cast<std::size_t>(found - names.begin())];
    if (slot) return run.fail(fmt::format("{}() got multiple values for argument '{}'", callee, name));
    slot = value;
  }
  for (std::size_t i = 0; i < required; ++i)
    if (!bound.values_[i]) return run.fail(fmt::format("{}() missing required argument '{}'", callee, *(names.begin() + i)));
  return bound;
}

}  // namespace sluice::jinja
