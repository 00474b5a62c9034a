#pragma once
// The values of a template: Python's, as far as templates see them. Immutable but for namespaces, loops and iterators.

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/base/result.h"
#include "core/text/jinja/bigint.h"
#include "core/text/jinja/text.h"

namespace sluice::jinja {

class Run;

enum class Kind : std::uint8_t {
  None, Bool, Int, Big, Float, String, List, Tuple, Dict, Range, View, Iterator, Undefined,
  Namespace, Macro, Function, Method, Loop, Cycler, Joiner,
};

/// Live bytes of one render; objects give theirs back when they die.
struct Ledger {
  std::uint64_t live = 0;
};

/// Base of all heap values.
struct Object {
  Object() = default;
  Object(const Object&) = delete;
  Object& operator=(const Object&) = delete;
  virtual ~Object() {
    if (ledger != nullptr) ledger->live -= charged;
  }
  Ledger* ledger = nullptr;  // none: belongs to a template, not to a render
  std::uint64_t charged = 0;
};

/// One value. Scalars know whether they came from the request, since their spelling may be printed.
class Value {
 public:
  Value() = default;
  static Value none(bool client = false);
  static Value boolean(bool value, bool client = false);
  static Value integer(std::int64_t value, bool client = false);
  static Value real(double value, bool client = false);
  /// A heap value that is shared (strings, containers, bound methods) ...
  Value(Kind kind, std::shared_ptr<Object> shared) : kind_(kind), shared_(std::move(shared)) {}
  /// ... or owned by the render (namespaces, macros, loops), so that no cycle of owners can arise.
  Value(Kind kind, Object* owned) : kind_(kind) { scalar_.object = owned; }

  Kind kind() const { return kind_; }
  bool is(Kind kind) const { return kind_ == kind; }
  bool client() const { return client_; }
  void setClient(bool client) { client_ = client; }
  bool asBool() const { return scalar_.boolean; }
  std::int64_t asInt() const { return scalar_.integer; }
  double asFloat() const { return scalar_.real; }
  template <class T>
  T& as() const {
    return static_cast<T&>(shared_ != nullptr ? *shared_ : *scalar_.object);
  }
  const void* identity() const { return shared_ != nullptr ? shared_.get() : scalar_.object; }
  const std::shared_ptr<Object>& shared() const { return shared_; }

  bool isString() const { return kind_ == Kind::String; }
  bool isUndefined() const { return kind_ == Kind::Undefined; }
  /// int or bool of Python: anything an index may be.
  bool isIntegral() const { return kind_ == Kind::Int || kind_ == Kind::Bool || kind_ == Kind::Big; }
  bool isNumber() const { return isIntegral() || kind_ == Kind::Float; }
  const Text& text() const;               // of a String
  const std::vector<Value>& items() const;  // of a List or Tuple

 private:
  Kind kind_ = Kind::None;
  bool client_ = false;
  union {
    bool boolean;
    std::int64_t integer;
    double real;
    Object* object;
  } scalar_ = {.integer = 0};
  std::shared_ptr<Object> shared_;
};

struct StringObject : Object {
  Text text;
  std::size_t characters = 0;
  bool safe = false;  // Markup: made by `safe` or `escape`
  bool ascii() const { return characters == text.size(); }
};

struct BigObject : Object {
  BigInt number;
};

struct ListObject : Object {
  std::vector<Value> items;
  int depth = 1;            // nesting, bounded so that every walk over values is
  std::uint64_t weight = 1; // work of one walk over all of it, parts that are shared counted each time
  bool group = false;       // a tuple of groupby: .grouper and .list
};

struct DictObject : Object {
  std::vector<std::pair<Value, Value>> items;
  std::unordered_map<std::string, std::size_t> index;  // filled beyond kIndexedFrom items
  int depth = 1;
  std::uint64_t weight = 1;
  static constexpr std::size_t kIndexedFrom = 9;

  const Value* find(const Value& key) const;
  const Value* find(std::string_view key) const;
  /// Sets a hashable key; a key that is there keeps its place.
  void set(Value key, Value value);

 private:
  std::optional<std::size_t> placeOf(const std::string& hash) const;
};

struct RangeObject : Object {
  std::int64_t start = 0, stop = 0, step = 1;
  std::int64_t size() const;
};

enum class ViewOf : std::uint8_t { Keys, Values, Items };
struct ViewObject : Object {
  Value dict;
  ViewOf of = ViewOf::Keys;
};

/// Python's iterator: gives each value once.
struct IteratorObject : Object {
  std::function<Result<bool>(Value& out)> next;  // false: no more
  std::string_view type = "generator";
  int depth = 1;  // iterators over iterators
};

struct UndefinedObject : Object {
  std::string message;   // what to say when it is used
};

struct Arguments {
  std::vector<Value> positional;
  std::vector<std::pair<std::string, Value>> named;
};

struct FunctionObject : Object {
  std::string_view name;
  Result<Value> (*call)(Run&, Arguments&) = nullptr;
};

/// A method of a string, list, dict, ... bound to its object.
struct MethodObject : Object {
  Value self;
  std::string_view name;
  Result<Value> (*call)(Run&, const Value& self, Arguments&) = nullptr;
};

struct NamespaceObject : Object {
  std::vector<std::pair<std::string, Value>> attributes;
};

struct CyclerObject : Object {
  std::vector<Value> items;
  std::size_t position = 0;
};

struct JoinerObject : Object {
  Value separator;
  bool used = false;
};

/// A string outside any render: a template's literal.
Value literalString(Text text);
Value literalBig(BigInt number);

std::string_view typeName(const Value& value);
bool truthy(const Value& value);
bool equal(const Value& a, const Value& b);
/// How deep values hold one another; 0 for all that hold none.
int depthOf(const Value& value);
constexpr int kNestingMax = 256;
/// Work of comparing, hashing or spelling it: one a value, one a 64 bytes of text.
std::uint64_t weightOf(const Value& value);
constexpr std::uint64_t kWeightMax = 10'000'000;
/// A key's spelling, the same for equal keys (1, 1.0, True); nothing when unhashable.
std::optional<std::string> hashKey(const Value& value);
/// -1, 0, 1; nothing when Python refuses to order them.
std::optional<int> order(const Value& a, const Value& b);
/// The number as a BigInt (Int, Bool, Big).
BigInt bigOf(const Value& value);
double doubleOf(const Value& value);

}  // namespace sluice::jinja
