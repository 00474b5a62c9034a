#pragma once
// A parsed template. Immutable after parsing, shared by all renders of it.

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/text/jinja/numbers.h"
#include "core/text/jinja/value.h"

namespace sluice::jinja {

struct FilterEntry;  // registry.h
struct TestEntry;

/// A variable's name, interned per template: an index into Program::names.
using NameId = int;

struct Expr;
using ExprPtr = std::unique_ptr<Expr>;

struct CallArguments {
  std::vector<ExprPtr> positional;
  std::vector<std::pair<std::string, ExprPtr>> named;
  ExprPtr star, double_star;
};

enum class Node : std::uint8_t {
  Const, Name, NamespaceRef, Tuple, List, Dict, Conditional, Or, And, Not, Compare, Binary, Concat, Negative, Positive,
  Attribute, Item, Slice, Call, Filter, Test,
};

enum class Comparison : std::uint8_t { Equal, NotEqual, Less, LessEqual, Greater, GreaterEqual, In, NotIn };

struct Expr {
  Node node = Node::Const;
  int line = 0;
  int depth = 1;                      // of this tree; bounded by the parser, so that walks are
  Value constant;                     // Const
  NameId name = -1;                   // Name, NamespaceRef
  std::string text;                   // attribute, filter or test name
  Operator op = Operator::Add;        // Binary
  std::vector<Comparison> compares;   // Compare: one an operand after the first
  std::vector<ExprPtr> kids;          // operands; Conditional: test, then, else (may be none); Dict: key, value, ...; Slice: three, each may be none
  CallArguments arguments;            // Call, Filter, Test
  const FilterEntry* filter = nullptr;
  const TestEntry* test = nullptr;
};

struct Statement;
using Body = std::vector<std::unique_ptr<Statement>>;

/// A macro, a call block or a generation block.
struct Callable {
  std::string name;
  std::vector<NameId> parameters;
  std::vector<std::string> parameter_names;
  std::vector<ExprPtr> defaults;      // of the last parameters
  Body body;
  bool wants_caller = false, wants_kwargs = false, wants_varargs = false;
  NameId caller_name = -1, kwargs_name = -1, varargs_name = -1;
};

enum class Act : std::uint8_t {
  Text, Print, If, For, Set, SetBlock, Macro, CallBlock, FilterBlock, With, Scope, Generation, Break, Continue, Refuse,
};

struct Branch {
  ExprPtr test;                       // none: else
  Body body;
};

struct Statement {
  Act act = Act::Text;
  int line = 0;
  Value text;                         // Text: the literal; Refuse: what to say
  ExprPtr target;                     // For, Set, SetBlock: Name, NamespaceRef or a Tuple of them
  ExprPtr value;                      // Print, Set, For (iterable), SetBlock and FilterBlock (filter chain), CallBlock (the call)
  ExprPtr condition;                  // For: `if`
  std::vector<Branch> branches;       // If
  std::vector<std::pair<ExprPtr, ExprPtr>> bindings;  // With
  Body body, otherwise;
  bool recursive = false, wants_loop = false;
  NameId name = -1;                   // Macro: its variable; For: that of `loop`
  Callable callable;
};

struct Program {
  std::vector<std::string> names;
  Body body;
};

}  // namespace sluice::jinja
