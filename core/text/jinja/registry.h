#pragma once
// Filters, tests, methods and global functions by name. The tables are constant; the parser looks names up once.

#include <span>
#include <string_view>

#include "core/text/jinja/value.h"

namespace sluice::jinja {

struct FilterEntry {
  std::string_view name;
  Result<Value> (*call)(Run&, const Value& self, Arguments&);
};
struct TestEntry {
  std::string_view name;
  Result<bool> (*call)(Run&, const Value& self, Arguments&);
};
struct FunctionEntry {
  std::string_view name;
  Result<Value> (*call)(Run&, Arguments&);
};
struct MethodEntry {
  std::string_view name;
  /// None: the method exists in Python, and the sandbox (or this engine) refuses it.
  Result<Value> (*call)(Run&, const Value& self, Arguments&);
};

/// Nothing when there is no such name.
const FilterEntry* findFilter(std::string_view name);
const TestEntry* findTest(std::string_view name);

std::span<const FilterEntry> textFilters();
std::span<const FilterEntry> sequenceFilters();
std::span<const FilterEntry> selectionFilters();
std::span<const FilterEntry> numberFilters();
std::span<const FunctionEntry> globalFunctions();
std::span<const MethodEntry> stringMethods();
std::span<const MethodEntry> stringShapeMethods();
std::span<const MethodEntry> listMethods();
std::span<const MethodEntry> tupleMethods();
std::span<const MethodEntry> dictMethods();
std::span<const MethodEntry> numberMethods();

/// Filters and tests of Jinja2 that this engine knows by name only; a template that uses one is refused at load.
bool isKnownUnsupportedFilter(std::string_view name);

}  // namespace sluice::jinja
