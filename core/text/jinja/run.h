#pragma once
// One render: variables, limits, and the walk over the program.

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/result.h"
#include "core/text/jinja/ast.h"
#include "core/text/jinja/registry.h"
#include "core/text/jinja/value.h"

namespace sluice::jinja {

/// What one render may use. A template is a stranger's program: none of its loops, macros or strings goes past these.
struct Limits {
  std::uint64_t steps = 20'000'000;              // statements, operations, and bytes touched / 64: seconds at most
  std::uint64_t live_bytes = 256ull << 20;       // of all values alive at once
  std::uint64_t output_bytes = 64ull << 20;
  int calls = 200;                               // macros and recursive loops in one another; the reference gives up near 160
  std::int64_t stack_bytes = 3 << 20;            // of our own stack, 8 MiB a thread by default
};

/// Variables of one block. Lookups go outward; assignments stay.
struct Scope {
  explicit Scope(std::shared_ptr<Scope> outer) : parent(std::move(outer)) {}
  std::shared_ptr<Scope> parent;
  std::vector<std::pair<NameId, Value>> variables;
  const Value* find(NameId name) const;
  void set(NameId name, Value value);
};
using ScopePtr = std::shared_ptr<Scope>;

struct MacroObject : Object {
  const Callable* callable = nullptr;
  ScopePtr scope;
};

struct LoopObject : Object {
  Value iterable;
  std::function<Result<bool>(Value&)> source;
  std::vector<Value> ahead;            // taken from the source and not yet given, in order
  std::size_t ahead_from = 0;
  std::int64_t index0 = -1;
  std::optional<std::int64_t> length;
  Value current, before;
  std::optional<Value> last_changed;
  const Statement* statement = nullptr;  // of a recursive loop
  ScopePtr scope;
  std::int64_t depth0 = 0;
};

class Run {
 public:
  Run(const Program& program, std::string_view name, std::int64_t now_unix, const Limits& limits);
  ~Run();
  Run(const Run&) = delete;
  Run& operator=(const Run&) = delete;

  /// Gives a variable of the request. Names that the program never mentions are dropped.
  void bind(std::string_view name, Value value);
  Result<Text> render();

  // errors and limits
  Error fail(std::string_view what) const;  // with the template's name and the current line
  Error failType(std::string_view what, const Value& value) const;  // "...: not 'int'"
  Result<Done> step(std::uint64_t count = 1);
  /// Charges the walk over `bytes` bytes.
  Result<Done> touch(std::uint64_t bytes) { return step(1 + bytes / 64); }
  /// Would `bytes` more fit? Asked before anything large is built.
  Result<Done> ask(std::uint64_t bytes) const;
  Result<Done> checkStack() const;

  // makers; each charges what it makes
  Result<Value> string(Text text, bool safe = false);
  Result<Value> string(std::string text, bool markup) { return string(Text(std::move(text), markup)); }
  Result<Value> list(std::vector<Value> items, Kind kind = Kind::List);
  Result<Value> dict(std::shared_ptr<DictObject> dict);
  /// An iterator that draws on `over`.
  Result<Value> iterator(const Value& over, std::function<Result<bool>(Value&)> next, std::string_view type = "generator");
  Value undefined(std::string message);
  Value method(const Value& self, const MethodEntry& entry);
  template <class T>
  T& own(std::unique_ptr<T> object);
  /// A small shared object, charged.
  template <class T>
  std::shared_ptr<T> made();
  std::int64_t now() const { return now_unix_; }
  const std::string& nameOf(NameId name) const { return program_.names[static_cast<std::size_t>(name)]; }

  // Python's protocols
  /// str(value), with its author.
  Result<Text> str(const Value& value);
  Result<Text> repr(const Value& value);
  /// A source of the values of an iterable; an error when there is no iterating over it.
  Result<std::function<Result<bool>(Value&)>> iterate(const Value& value);
  Result<std::vector<Value>> listOf(const Value& value);
  Result<std::int64_t> length(const Value& value);
  Result<bool> contains(const Value& container, const Value& item);
  Result<Value> getAttribute(const Value& object, std::string_view name);
  Result<Value> getItem(const Value& object, const Value& key);
  /// "a.b.0" of the filters: parts that are numbers are indices; `otherwise` (unless None) stands in for every part that is missing.
  Result<Value> getPath(const Value& object, const Value& path, const Value& otherwise = Value());
  Result<Value> call(const Value& callee, Arguments& arguments);
  Result<Value> binary(Operator op, const Value& a, const Value& b);
  Result<bool> compare(Comparison op, const Value& a, const Value& b);
  Result<Value> applyFilter(std::string_view name, const Value& input, Arguments& arguments);
  Result<bool> applyTest(std::string_view name, const Value& input, Arguments& arguments);
  Result<Text> dumpJson(const Value& value, const Value& indent, const Value& separators, bool sort_keys, bool ensure_ascii);

 private:
  friend Result<bool> loopNext(Run& run, LoopObject& loop, Value& out);
  enum class Flow : std::uint8_t { Normal, Break, Continue };

  Result<Flow> exec(const Body& body, const ScopePtr& scope);
  Result<Flow> exec(const Statement& statement, const ScopePtr& scope);
  Result<Done> emit(const Text& text);
  Result<Done> assign(const Expr& target, Value value, Scope& scope);
  Result<Done> execFor(const Statement& loop, const ScopePtr& scope, const Value& iterable, std::int64_t depth0);
  Result<Flow> execSetBlock(const Statement& block, const ScopePtr& scope);
  Result<Flow> execFilterBlock(const Statement& block, const ScopePtr& scope);
  Result<Done> execCallBlock(const Statement& block, const ScopePtr& scope);
  Result<Flow> execWith(const Statement& with, const ScopePtr& scope);
  Result<Flow> execScope(const Statement& block, const ScopePtr& scope);
  /// Runs `body` into a buffer of its own.
  Result<Flow> capture(const Body& body, const ScopePtr& scope, Text& out);
  Result<Value> makeMacro(const Callable& callable, const ScopePtr& scope);
  Result<std::function<Result<bool>(Value&)>> filtered(const Statement& loop, const ScopePtr& scope, std::function<Result<bool>(Value&)> source);

  Result<Value> eval(const Expr& expr, const ScopePtr& scope);
  Result<Value> evalName(const Expr& expr, const ScopePtr& scope);
  Result<Value> evalCompare(const Expr& expr, const ScopePtr& scope);
  Result<Value> evalConcat(const Expr& expr, const ScopePtr& scope);
  Result<Value> evalSign(const Expr& expr, const ScopePtr& scope);
  Result<Value> evalItem(const Expr& expr, const ScopePtr& scope);
  Result<Value> evalDict(const Expr& expr, const ScopePtr& scope);
  Result<std::vector<Value>> evalAll(const std::vector<ExprPtr>& exprs, const ScopePtr& scope);
  Result<Value> evalFilter(const Expr& expr, const ScopePtr& scope, const Value* block_input);
  Result<bool> evalTest(const Expr& expr, const ScopePtr& scope);
  Result<Arguments> evalArguments(const CallArguments& arguments, const ScopePtr& scope);
  Result<Value> slice(const Value& object, const Value& start, const Value& stop, const Value& step);
  Result<Value> callMacro(MacroObject& macro, Arguments& arguments);
  Result<Value> callLoop(LoopObject& loop, Arguments& arguments);
  Result<Value> loopAttribute(const Value& loop, std::string_view name);
  Result<Value> attributeOf(const Value& object, std::string_view name, bool& found);
  Result<Value> elementOf(const Value& object, const Value& key, bool& found);
  Result<Value> repeat(const Value& sequence, const Value& count);
  Result<Done> reprInto(const Value& value, Text& out);

  const Program& program_;
  std::string_view name_;
  std::int64_t now_unix_;
  Limits limits_;
  // Order matters: objects give their bytes back to the ledger, so it goes last.
  Ledger ledger_;
  std::vector<std::unique_ptr<Object>> owned_;
  ScopePtr root_;
  std::uint64_t steps_ = 0;
  int calls_ = 0;
  int line_ = 1;
  const char* stack_base_ = nullptr;
  Flow pending_ = Flow::Normal;  // a jump out of a loop's else branch
  Text* out_ = nullptr;
};

template <class T>
T& Run::own(std::unique_ptr<T> object) {
  T& made = *object;
  made.ledger = &ledger_;
  made.charged = sizeof(T) + 64;
  ledger_.live += made.charged;
  owned_.push_back(std::move(object));
  return made;
}

template <class T>
std::shared_ptr<T> Run::made() {
  auto object = std::make_shared<T>();
  object->ledger = &ledger_;
  object->charged = sizeof(T) + 64;
  ledger_.live += object->charged;
  return object;
}

/// Bound arguments of a filter, test, method or function: positional ones first, names after; nothing repeated, nothing unknown.
class Bound {
 public:
  static Result<Bound> bind(Run& run, std::string_view callee, Arguments& arguments, std::initializer_list<std::string_view> names, std::size_t required = 0);
  bool has(std::size_t i) const { return values_[i].has_value(); }
  const Value& operator[](std::size_t i) const { return *values_[i]; }
  /// The value, or `otherwise` when it was not given.
  Value get(std::size_t i, Value otherwise) const { return values_[i] ? *values_[i] : std::move(otherwise); }

 private:
  std::vector<std::optional<Value>> values_;
};

/// The next item of a loop; false at its end.
Result<bool> loopNext(Run& run, LoopObject& loop, Value& out);
/// An index as Python takes it (int or bool), clamped to 64 bits.
std::optional<std::int64_t> indexOf(const Value& value);

}  // namespace sluice::jinja
