// Calling: macros, recursive loops, functions, methods; and the global functions of chat templates.

#include <ctime>

#include <fmt/format.h>

#include "core/text/jinja/run.h"

namespace sluice::jinja {

namespace {

struct Deeper {
  explicit Deeper(int& depth) : depth_(depth) { ++depth_; }
  ~Deeper() { --depth_; }
  int& depth_;
};

}  // namespace

Result<Value> Run::call(const Value& callee, Arguments& arguments) {
  TRY(step());
  switch (callee.kind()) {
    case Kind::Function: return callee.as<FunctionObject>().call(*this, arguments);
    case Kind::Method: return callee.as<MethodObject>().call(*this, callee.as<MethodObject>().self, arguments);
    case Kind::Macro: return callMacro(callee.as<MacroObject>(), arguments);
    case Kind::Loop: return callLoop(callee.as<LoopObject>(), arguments);
    case Kind::Joiner: {
      auto& joiner = callee.as<JoinerObject>();
      return std::exchange(joiner.used, true) ? joiner.separator : string("", true);
    }
    case Kind::Undefined: return fail(callee.as<UndefinedObject>().message);
    case Kind::None:
    case Kind::Bool:
    case Kind::Int:
    case Kind::Big:
    case Kind::Float:
    case Kind::String:
    case Kind::List:
    case Kind::Tuple:
    case Kind::Dict:
    case Kind::Range:
    case Kind::View:
    case Kind::Iterator:
    case Kind::Namespace:
    case Kind::Cycler: return fail(fmt::format("'{}' object is not callable", typeName(callee)));
  }
  UNREACHABLE();
}

Result<Value> Run::callMacro(MacroObject& macro, Arguments& arguments) {
  const Callable& callable = *macro.callable;
  const Deeper deeper(calls_);
  if (calls_ > limits_.calls) return fail(fmt::format("macros call one another more than {} levels deep", limits_.calls));
  TRY(checkStack());
  const ScopePtr scope = std::make_shared<Scope>(macro.scope);
  const std::size_t count = callable.parameters.size();
  const auto take = [&](std::string_view name) -> std::optional<Value> {
    for (auto it = arguments.named.begin(); it != arguments.named.end(); ++it) {
      if (it->first != name) continue;
      Value value = std::move(it->second);
      arguments.named.erase(it);
      return value;
    }
    return std::nullopt;
  };
  std::vector<std::optional<Value>> given(count);
  for (std::size_t i = 0; i < count; ++i)
    given[i] = i < arguments.positional.size() ? std::optional(arguments.positional[i]) : take(callable.parameter_names[i]);
  if (callable.wants_caller) {
    auto caller = take("caller");
    scope->set(callable.caller_name, caller && !caller->is(Kind::None) ? *caller : undefined("No caller defined"));
  }
  if (callable.wants_kwargs) {
    auto rest = std::make_shared<DictObject>();
    for (auto& [name, value] : arguments.named) rest->set(TRY(string(name, true)), std::move(value));
    scope->set(callable.kwargs_name, TRY(dict(std::move(rest))));
  } else if (!arguments.named.empty()) {
    return fail(fmt::format("macro '{}' takes no keyword argument '{}'", callable.name, arguments.named.front().first));
  }
  if (callable.wants_varargs) {
    std::vector<Value> rest;
    for (std::size_t i = count; i < arguments.positional.size(); ++i) rest.push_back(arguments.positional[i]);
    scope->set(callable.varargs_name, TRY(list(std::move(rest), Kind::Tuple)));
  } else if (arguments.positional.size() > count) {
    return fail(fmt::format("macro '{}' takes not more than {} argument(s)", callable.name, count));
  }
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t required = count - callable.defaults.size();
    if (!given[i]) given[i] = i < required ? undefined(fmt::format("parameter '{}' was not provided", callable.parameter_names[i]))
                                           : TRY(eval(*callable.defaults[i - required], scope));
    scope->set(callable.parameters[i], std::move(*given[i]));
  }
  Text text;
  TRY(capture(callable.body, scope, text));
  return string(std::move(text));
}

Result<Value> Run::callLoop(LoopObject& loop, Arguments& arguments) {
  if (loop.statement == nullptr) return fail("The loop must have the 'recursive' marker to be called recursively.");
  const Bound bound = TRY(Bound::bind(*this, "loop", arguments, {"iterable"}, 1));
  const Deeper deeper(calls_);
  if (calls_ > limits_.calls) return fail(fmt::format("a recursive loop calls itself more than {} levels deep", limits_.calls));
  TRY(checkStack());
  Text text;
  Text* const before = std::exchange(out_, &text);
  const Result<Done> done = execFor(*loop.statement, loop.scope, bound[0], loop.depth0 + 1);
  out_ = before;
  pending_ = Flow::Normal;
  ledger_.live -= 2 * text.size();
  if (!done.ok()) return done.error();
  return string(std::move(text));
}

namespace {

Result<Value> makeRange(Run& run, Arguments& arguments) {
  const Bound bound = TRY(Bound::bind(run, "range", arguments, {"start", "stop", "step"}, 1));
  auto range = run.made<RangeObject>();
  std::int64_t numbers[3] = {0, 0, 1};
  for (std::size_t i = 0; i < 3; ++i) {
    if (!bound.has(i)) continue;
    const auto number = indexOf(bound[i]);
    if (!number) return run.failType("range() takes integers", bound[i]);
    numbers[i] = *number;
  }
  if (!bound.has(1)) {
    numbers[1] = numbers[0];
    numbers[0] = 0;
  }
  if (numbers[2] == 0) return run.fail("range() arg 3 must not be zero");
  range->start = numbers[0];
  range->stop = numbers[1];
  range->step = numbers[2];
  // The sandbox's MAX_RANGE; with it the differences below cannot overflow.
  constexpr std::int64_t kRangeMax = 100000, kBound = std::int64_t{1} << 61;
  for (const std::int64_t n : numbers)
    if (n > kBound || n < -kBound) return run.fail("range() arguments are too large");
  if (range->size() > kRangeMax) return run.fail(fmt::format("Range too big. The sandbox blocks ranges larger than MAX_RANGE ({}).", kRangeMax));
  return Value(Kind::Range, std::move(range));
}

Result<std::shared_ptr<DictObject>> dictFrom(Run& run, std::string_view callee, Arguments& arguments) {
  auto made = std::make_shared<DictObject>();
  if (arguments.positional.size() > 1) return run.fail(fmt::format("{}() expected at most 1 argument, got {}", callee, arguments.positional.size()));
  const auto put = [&](const Value& key, const Value& value) -> Result<Done> {
    TRY(run.step(weightOf(key)));
    if (!hashKey(key)) return run.fail(fmt::format("unhashable type: '{}'", typeName(key)));
    made->set(key, value);
    return Done{};
  };
  if (!arguments.positional.empty()) {
    const Value& from = arguments.positional[0];
    if (from.is(Kind::Dict)) {
      for (const auto& [key, value] : from.as<DictObject>().items) TRY(put(key, value));
    } else {
      for (const Value& pair : TRY(run.listOf(from))) {
        const std::vector<Value> parts = TRY(run.listOf(pair));
        if (parts.size() != 2) return run.fail(fmt::format("dictionary update sequence element has length {}; 2 is required", parts.size()));
        TRY(put(parts[0], parts[1]));
      }
    }
  }
  for (auto& [name, value] : arguments.named) TRY(put(TRY(run.string(name, true)), value));
  return made;
}

Result<Value> makeDict(Run& run, Arguments& arguments) { return run.dict(TRY(dictFrom(run, "dict", arguments))); }

Result<Value> makeNamespace(Run& run, Arguments& arguments) {
  const auto values = TRY(dictFrom(run, "namespace", arguments));
  auto space = std::make_unique<NamespaceObject>();
  for (const auto& [key, value] : values->items) {
    if (!key.isString()) return run.failType("a namespace's names must be strings", key);
    if (key.text().view().substr(0, 1) == "_") return run.fail("a namespace cannot hold names that begin with an underscore");
    space->attributes.emplace_back(key.text().bytes(), value);
  }
  TRY(run.ask(values->items.size() * 64));
  return Value(Kind::Namespace, &run.own(std::move(space)));
}

Result<Value> makeCycler(Run& run, Arguments& arguments) {
  if (arguments.positional.empty()) return run.fail("at least one item has to be provided");
  auto cycler = std::make_unique<CyclerObject>();
  cycler->items = arguments.positional;
  TRY(run.ask(cycler->items.size() * sizeof(Value)));
  return Value(Kind::Cycler, &run.own(std::move(cycler)));
}

Result<Value> makeJoiner(Run& run, Arguments& arguments) {
  const Bound bound = TRY(Bound::bind(run, "joiner", arguments, {"sep"}));
  auto joiner = std::make_unique<JoinerObject>();
  joiner->separator = bound.has(0) ? bound[0] : TRY(run.string(", ", true));
  TRY(run.ask(0));
  return Value(Kind::Joiner, &run.own(std::move(joiner)));
}

Result<Value> raiseException(Run& run, Arguments& arguments) {
  const Bound bound = TRY(Bound::bind(run, "raise_exception", arguments, {"message"}, 1));
  return run.fail(TRY(run.str(bound[0])).view());
}

/// The request's time in UTC, in the C locale's words.
Result<Value> strftimeNow(Run& run, Arguments& arguments) {
  const Bound bound = TRY(Bound::bind(run, "strftime_now", arguments, {"format"}, 1));
  if (!bound[0].isString()) return run.failType("strftime_now() takes a format string", bound[0]);
  const auto seconds = static_cast<std::time_t>(run.now());
  std::tm time{};
  if (gmtime_r(&seconds, &time) == nullptr) return run.fail("the request's time is out of range");
  const Text& format = bound[0].text();
  TRY(run.touch(format.size()));
  Text out;
  for (std::size_t at = 0; at < format.size(); ++at) {
    if (format.bytes()[at] != '%' || at + 1 >= format.size()) {
      out.append(format, at, 1);
      continue;
    }
    std::size_t end = at + 1;
    if ((format.bytes()[end] == '-' || format.bytes()[end] == '_' || format.bytes()[end] == '0') && end + 1 < format.size()) ++end;  // glibc's flags
    const std::string directive = format.bytes().substr(at, end - at + 1);
    char spelled[128];
    const char code = directive.back();
    if (code == 'f') {
      out.append("000000", format.markupAt(at));
    } else if (code != 'z' && code != 'Z') {  // a naive time has no zone
      out.append(std::string_view(spelled, std::strftime(spelled, sizeof(spelled), directive.c_str(), &time)), format.markupAt(at));
    }
    at = end;
  }
  return run.string(std::move(out));
}

constexpr FunctionEntry kGlobals[] = {
    {"range", makeRange},   {"dict", makeDict},       {"namespace", makeNamespace},           {"cycler", makeCycler},
    {"joiner", makeJoiner}, {"raise_exception", raiseException}, {"strftime_now", strftimeNow},
};

}  // namespace

std::span<const FunctionEntry> globalFunctions() { return kGlobals; }

}  // namespace sluice::jinja
