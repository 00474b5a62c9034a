// map, select, reject and their kin; default, attr, tojson; and looking filters up.

#include <algorithm>

#include <fmt/format.h>

#include "core/text/jinja/run.h"

namespace sluice::jinja {

namespace {

Result<Value> mapFilter(Run& run, const Value& self, Arguments& arguments) {
  auto given = std::make_shared<Arguments>(arguments);
  auto source = std::make_shared<std::function<Result<bool>(Value&)>>();
  auto attribute = std::make_shared<std::optional<Value>>();
  auto otherwise = std::make_shared<Value>();
  auto name = std::make_shared<std::string>();
  // Everything happens when the first item is asked for, as in a Python generator.
  const auto start = [&run, self, given, source, attribute, otherwise, name]() -> Result<Done> {
    *source = TRY(run.iterate(self));
    if (given->positional.empty()) {
      for (auto& [key, value] : given->named) {
        if (key == "attribute") {
          *attribute = value;
        } else if (key == "default") {
          *otherwise = value;
        } else {
          return run.fail(fmt::format("Unexpected keyword argument '{}'", key));
        }
      }
      if (!attribute->has_value()) return run.fail("map requires a filter argument");
      return Done{};
    }
    *name = TRY(run.str(given->positional.front())).bytes();
    given->positional.erase(given->positional.begin());
    return Done{};
  };
  return run.iterator(self, [&run, self, start, given, source, attribute, otherwise, name](Value& out) -> Result<bool> {
    if (!*source) {
      if (!truthy(self)) return false;
      TRY(start());
    }
    Value item;
    if (!TRY((*source)(item))) return false;
    if (attribute->has_value()) {
      out = TRY(run.getPath(item, **attribute, *otherwise));
    } else {
      Arguments each = *given;
      out = TRY(run.applyFilter(*name, item, each));
    }
    return true;
  });
}

/// select, reject, selectattr, rejectattr: items whose (attribute's) test is `wanted`.
template <bool kWanted, bool kAttribute>
Result<Value> chooseFilter(Run& run, const Value& self, Arguments& arguments) {
  auto given = std::make_shared<Arguments>(arguments);
  auto source = std::make_shared<std::function<Result<bool>(Value&)>>();
  auto attribute = std::make_shared<Value>();
  auto test = std::make_shared<std::optional<std::string>>();
  const auto start = [&run, self, given, source, attribute, test]() -> Result<Done> {
    *source = TRY(run.iterate(self));
    auto& positional = given->positional;
    if (kAttribute) {
      if (positional.empty()) return run.fail("Missing parameter for attribute name");
      *attribute = positional.front();
      positional.erase(positional.begin());
    }
    if (positional.empty()) return Done{};
    *test = TRY(run.str(positional.front())).bytes();
    positional.erase(positional.begin());
    return Done{};
  };
  return run.iterator(self, [&run, self, start, given, source, attribute, test](Value& out) -> Result<bool> {
    if (!*source) {
      if (!truthy(self)) return false;
      TRY(start());
    }
    while (TRY((*source)(out))) {
      TRY(run.step());
      const Value subject = kAttribute ? TRY(run.getPath(out, *attribute)) : out;
      bool passes = false;
      if (test->has_value()) {
        Arguments each = *given;
        passes = TRY(run.applyTest(**test, subject, each));
      } else {
        passes = truthy(subject);
      }
      if (passes == kWanted) return true;
    }
    return false;
  });
}

Result<Value> defaultFilter(Run& run, const Value& self, Arguments& arguments) {
  const Bound bound = TRY(Bound::bind(run, "default", arguments, {"default_value", "boolean"}));
  const bool falsy_too = truthy(bound.get(1, Value::boolean(false)));
  if (!self.isUndefined() && !(falsy_too && !truthy(self))) return self;
  return bound.has(0) ? bound[0] : run.string("", true);
}

Result<Value> attrFilter(Run& run, const Value& self, Arguments& arguments) {
  const Bound bound = TRY(Bound::bind(run, "attr", arguments, {"name"}, 1));
  if (!bound[0].isString()) return run.failType("attribute name must be string", bound[0]);
  // An attribute, never an item: of a dict only its methods.
  const std::string& name = bound[0].text().bytes();
  if (self.is(Kind::Dict) && std::none_of(dictMethods().begin(), dictMethods().end(), [&](const MethodEntry& m) { return m.name == name; }))
    return run.undefined(fmt::format("'dict object' has no attribute '{}'", name.substr(0, 1000)));
  return run.getAttribute(self, name);
}

Result<Value> toJsonFilter(Run& run, const Value& self, Arguments& arguments) {
  const Bound bound = TRY(Bound::bind(run, "tojson", arguments, {"ensure_ascii", "indent", "separators", "sort_keys"}));
  const bool ascii = truthy(bound.get(0, Value::boolean(false)));
  const bool sorted = truthy(bound.get(3, Value::boolean(false)));
  return run.string(TRY(run.dumpJson(self, bound.get(1, Value()), bound.get(2, Value()), sorted, ascii)));
}

constexpr FilterEntry kFilters[] = {
    {"attr", attrFilter},
    {"d", defaultFilter},
    {"default", defaultFilter},
    {"map", mapFilter},
    {"reject", chooseFilter<false, false>},
    {"rejectattr", chooseFilter<false, true>},
    {"select", chooseFilter<true, false>},
    {"selectattr", chooseFilter<true, true>},
    {"tojson", toJsonFilter},
};

}  // namespace

std::span<const FilterEntry> selectionFilters() { return kFilters; }

const FilterEntry* findFilter(std::string_view name) {
  for (const auto& table : {selectionFilters(), textFilters(), sequenceFilters(), numberFilters()})
    for (const FilterEntry& entry : table)
      if (entry.name == name) return &entry;
  return nullptr;
}

bool isKnownUnsupportedFilter(std::string_view name) {
  // random has no answer to compare with; the others are for web pages.
  return name == "random" || name == "urlize" || name == "wordwrap" || name == "pprint";
}

}  // namespace sluice::jinja
