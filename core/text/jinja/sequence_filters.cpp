// Filters over sequences.

#include <algorithm>

#include <fmt/format.h>

#include "core/text/jinja/sorting.h"

namespace sluice::jinja {

namespace {

bool flag(const Bound& bound, std::size_t i) { return truthy(bound.get(i, Value::boolean(false))); }

Result<Value> lengthFilter(Run& run, const Value& self, Arguments& arguments) {
  TRY(Bound::bind(run, "length", arguments, {}));
  return Value::integer(TRY(run.length(self)));
}

Result<Value> firstFilter(Run& run, const Value& self, Arguments& arguments) {
  TRY(Bound::bind(run, "first", arguments, {}));
  auto next = TRY(run.iterate(self));
  Value item;
  return TRY(next(item)) ? item : run.undefined("No first item, sequence was empty.");
}

bool isReversible(const Value& value) {
  return value.isString() || value.is(Kind::List) || value.is(Kind::Tuple) || value.is(Kind::Dict) || value.is(Kind::Range) || value.is(Kind::View) ||
         value.isUndefined();
}

Result<Value> lastFilter(Run& run, const Value& self, Arguments& arguments) {
  TRY(Bound::bind(run, "last", arguments, {}));
  if (!isReversible(self)) return run.fail(fmt::format("'{}' object is not reversible", typeName(self)));
  if (TRY(run.length(self)) == 0) return run.undefined("No last item, sequence was empty.");
  if (self.isString() || self.is(Kind::Range)) return run.getItem(self, Value::integer(-1));
  return TRY(run.listOf(self)).back();
}

Result<Value> reverseFilter(Run& run, const Value& self, Arguments& arguments) {
  TRY(Bound::bind(run, "reverse", arguments, {}));
  std::vector<Value> items = TRY(run.listOf(self));
  std::reverse(items.begin(), items.end());
  if (self.isString()) {
    Text out;
    for (const Value& item : items) out.append(item.text());
    return run.string(std::move(out));
  }
  Value reversed = TRY(run.list(std::move(items)));
  if (!isReversible(self)) return reversed;
  return run.iterator(reversed, TRY(run.iterate(reversed)), "list_reverseiterator");
}

Result<Value> listFilter(Run& run, const Value& self, Arguments& arguments) {
  TRY(Bound::bind(run, "list", arguments, {}));
  return run.list(TRY(run.listOf(self)));
}

Result<Value> itemsFilter(Run& run, const Value& self, Arguments& arguments) {
  TRY(Bound::bind(run, "items", arguments, {}));
  if (!self.is(Kind::Dict) && !self.isUndefined())
    return run.iterator(self, [&run](Value&) -> Result<bool> { return run.fail("Can only get item pairs from a mapping."); });
  if (self.isUndefined()) return run.iterator(self, [](Value&) -> Result<bool> { return false; });
  auto view = run.made<ViewObject>();
  view->dict = self;
  view->of = ViewOf::Items;
  const Value pairs(Kind::View, std::move(view));
  return run.iterator(pairs, TRY(run.iterate(pairs)));
}

Result<Value> joinFilter(Run& run, const Value& self, Arguments& arguments) {
  const Bound bound = TRY(Bound::bind(run, "join", arguments, {"d", "attribute"}));
  const Text separator = bound.has(0) ? TRY(run.str(bound[0])) : Text();
  const Value attribute = bound.get(1, Value());
  auto next = TRY(run.iterate(self));
  Text out;
  Value item;
  for (bool first = true; TRY(next(item)); first = false) {
    TRY(run.step());
    const Text part = TRY(run.str(TRY(run.getPath(item, attribute))));
    TRY(run.touch(part.size() + separator.size()));
    TRY(run.ask(2 * (out.weight() + part.weight() + separator.weight())));
    if (!first) out.append(separator);
    out.append(part);
  }
  return run.string(std::move(out));
}

/// Rows with their keys: the attributes "a,b.c" (or the item itself), without case unless asked.
Result<std::vector<Keyed>> keyed(Run& run, const Value& self, const Value& attribute, bool case_sensitive, const Value& otherwise = Value()) {
  std::vector<Value> paths;
  if (attribute.isString()) {
    const Text& text = attribute.text();
    for (std::size_t from = 0; from <= text.size();) {
      const std::size_t comma = std::min(text.view().find(',', from), text.size());
      paths.push_back(TRY(run.string(text.slice(from, comma - from))));
      from = comma + 1;
    }
  } else {
    paths.push_back(attribute);
  }
  std::vector<Keyed> rows;
  for (Value& item : TRY(run.listOf(self))) {
    Keyed row;
    for (const Value& path : paths) {
      Value key = TRY(run.getPath(item, path, otherwise));
      row.keys.push_back(case_sensitive ? std::move(key) : TRY(withoutCase(run, key)));
    }
    row.item = std::move(item);
    rows.push_back(std::move(row));
    if ((rows.size() & 1023) == 1023) TRY(run.ask(rows.size() * 4 * sizeof(Keyed)));
  }
  return rows;
}

Result<Value> itemsOf(Run& run, std::vector<Keyed> rows) {
  std::vector<Value> items;
  for (Keyed& row : rows) items.push_back(std::move(row.item));
  return run.list(std::move(items));
}

Result<Value> sortFilter(Run& run, const Value& self, Arguments& arguments) {
  const Bound bound = TRY(Bound::bind(run, "sort", arguments, {"reverse", "case_sensitive", "attribute"}));
  std::vector<Keyed> rows = TRY(keyed(run, self, bound.get(2, Value()), flag(bound, 1)));
  TRY(sortKeyed(run, rows, KeyKind::List, flag(bound, 0)));
  return itemsOf(run, std::move(rows));
}

Result<Value> dictSortFilter(Run& run, const Value& self, Arguments& arguments) {
  const Bound bound = TRY(Bound::bind(run, "dictsort", arguments, {"case_sensitive", "by", "reverse"}));
  const Text by = bound.has(1) ? TRY(run.str(bound[1])) : Text("key", true);
  if (by.view() != "key" && by.view() != "value") return run.fail("You can only sort by either \"key\" or \"value\"");
  if (!self.is(Kind::Dict)) return run.failType("dictsort takes a mapping", self);
  std::vector<Keyed> rows;
  for (const auto& [key, value] : self.as<DictObject>().items) {
    const Value& chosen = by.view() == "key" ? key : value;
    rows.push_back({{flag(bound, 0) ? chosen : TRY(withoutCase(run, chosen))}, TRY(run.list({key, value}, Kind::Tuple))});
  }
  TRY(sortKeyed(run, rows, KeyKind::Plain, flag(bound, 2)));
  return itemsOf(run, std::move(rows));
}

Result<Value> groupByFilter(Run& run, const Value& self, Arguments& arguments) {
  const Bound bound = TRY(Bound::bind(run, "groupby", arguments, {"attribute", "default", "case_sensitive"}, 1));
  if (bound[0].isString() && bound[0].text().view().find(',') != std::string_view::npos) return run.fail("groupby takes one attribute");
  std::vector<Keyed> rows = TRY(keyed(run, self, bound[0], flag(bound, 2), bound.get(1, Value())));
  TRY(sortKeyed(run, rows, KeyKind::Plain, false));
  std::vector<Value> groups;
  for (std::size_t from = 0; from < rows.size();) {
    std::size_t end = from;
    std::vector<Value> members;
    while (end < rows.size() && TRY(run.compare(Comparison::Equal, rows[from].keys[0], rows[end].keys[0]))) members.push_back(rows[end++].item);
    if (end == from) members.push_back(rows[end++].item);  // a key that is not equal to itself: NaN
    Value key = rows[from].keys[0];
    if (!flag(bound, 2)) {
      key = TRY(run.getPath(members[0], bound[0], bound.get(1, Value())));
    }
    Value group = TRY(run.list({key, TRY(run.list(std::move(members)))}, Kind::Tuple));
    group.as<ListObject>().group = true;
    groups.push_back(std::move(group));
    from = end;
  }
  return run.list(std::move(groups));
}

Result<Value> uniqueFilter(Run& run, const Value& self, Arguments& arguments) {
  const Bound bound = TRY(Bound::bind(run, "unique", arguments, {"case_sensitive", "attribute"}));
  const bool case_sensitive = flag(bound, 0);
  const Value attribute = bound.get(1, Value());
  auto seen = std::make_shared<DictObject>();
  auto source = std::make_shared<std::function<Result<bool>(Value&)>>();
  return run.iterator(self, [&run, self, case_sensitive, attribute, seen, source](Value& out) -> Result<bool> {
    if (!*source) *source = TRY(run.iterate(self));  // only now, as in a Python generator
    while (TRY((*source)(out))) {
      Value key = TRY(run.getPath(out, attribute));
      if (!case_sensitive) key = TRY(withoutCase(run, key));
      TRY(run.step(1 + weightOf(key)));
      if (!hashKey(key)) return run.fail(fmt::format("unhashable type: '{}'", typeName(key)));
      if (seen->find(key) != nullptr) continue;
      TRY(run.ask(seen->items.size() * 256));
      seen->set(key, Value());
      return true;
    }
    return false;
  });
}

template <bool kMax>
Result<Value> extremeFilter(Run& run, const Value& self, Arguments& arguments) {
  const Bound bound = TRY(Bound::bind(run, kMax ? "max" : "min", arguments, {"case_sensitive", "attribute"}));
  if (bound.has(1) && bound[1].isString() && bound[1].text().view().find(',') != std::string_view::npos) return run.fail("takes one attribute");
  std::vector<Keyed> rows = TRY(keyed(run, self, bound.get(1, Value()), flag(bound, 0)));
  if (rows.empty()) return run.undefined("No aggregated item, sequence was empty.");
  std::size_t best = 0;
  for (std::size_t i = 1; i < rows.size(); ++i)
    if (TRY(run.compare(kMax ? Comparison::Greater : Comparison::Less, rows[i].keys[0], rows[best].keys[0]))) best = i;
  return rows[best].item;
}

Result<Value> sumFilter(Run& run, const Value& self, Arguments& arguments) {
  const Bound bound = TRY(Bound::bind(run, "sum", arguments, {"attribute", "start"}));
  Value total = bound.get(1, Value::integer(0));
  if (total.isString()) return run.fail("sum() can't sum strings [use ''.join(seq) instead]");
  const Value attribute = bound.get(0, Value());
  auto next = TRY(run.iterate(self));
  Value item;
  while (TRY(next(item))) total = TRY(run.binary(Operator::Add, total, TRY(run.getPath(item, attribute))));
  return total;
}

Result<Value> batchFilter(Run& run, const Value& self, Arguments& arguments) {
  const Bound bound = TRY(Bound::bind(run, "batch", arguments, {"linecount", "fill_with"}, 1));
  const auto count = indexOf(bound[0]);
  if (!count) return run.failType("batch takes an integer", bound[0]);
  const Value fill = bound.get(1, Value());
  auto source = std::make_shared<std::function<Result<bool>(Value&)>>();
  auto row = std::make_shared<std::vector<Value>>();
  auto done = std::make_shared<bool>(false);
  return run.iterator(self, [&run, self, count = *count, fill, source, row, done](Value& out) -> Result<bool> {
    if (*done) return false;
    if (!*source) *source = TRY(run.iterate(self));
    Value item;
    while (TRY((*source)(item))) {
      TRY(run.step());
      const bool full = static_cast<std::int64_t>(row->size()) == count;
      if (full) out = TRY(run.list(std::exchange(*row, {})));
      row->push_back(std::move(item));
      if (full) return true;
    }
    *done = true;
    if (row->empty()) return false;
    if (!fill.is(Kind::None) && static_cast<std::int64_t>(row->size()) < count) {
      TRY(run.ask(static_cast<std::uint64_t>(std::min<std::int64_t>(count, std::int64_t{1} << 40)) * sizeof(Value)));
      row->resize(static_cast<std::size_t>(count), fill);
    }
    out = TRY(run.list(std::exchange(*row, {})));
    return true;
  });
}

Result<Value> sliceFilter(Run& run, const Value& self, Arguments& arguments) {
  const Bound bound = TRY(Bound::bind(run, "slice", arguments, {"slices", "fill_with"}, 1));
  const auto slices = indexOf(bound[0]);
  if (!slices) return run.failType("slice takes an integer", bound[0]);
  const Value fill = bound.get(1, Value());
  auto at = std::make_shared<std::int64_t>(0);
  auto items = std::make_shared<std::vector<Value>>();
  return run.iterator(self, [&run, self, slices = *slices, fill, at, items](Value& out) mutable -> Result<bool> {
    if (*at == 0) {
      *items = TRY(run.listOf(self));
      if (slices == 0) return run.fail("integer division or modulo by zero");
    }
    if (*at >= slices) return false;
    const auto size = static_cast<std::int64_t>(items->size());
    const std::int64_t each = size / slices, extra = size % slices, i = (*at)++;
    const std::int64_t from = i * each + std::min(i, extra), end = from + each + (i < extra ? 1 : 0);
    std::vector<Value> part(items->begin() + from, items->begin() + end);
    if (!fill.is(Kind::None) && i >= extra) part.push_back(fill);
    out = TRY(run.list(std::move(part)));
    return true;
  });
}

constexpr FilterEntry kFilters[] = {
    {"batch", batchFilter}, {"count", lengthFilter}, {"dictsort", dictSortFilter}, {"first", firstFilter},    {"groupby", groupByFilter},
    {"items", itemsFilter}, {"join", joinFilter},    {"last", lastFilter},         {"length", lengthFilter},  {"list", listFilter},
    {"max", extremeFilter<true>}, {"min", extremeFilter<false>}, {"reverse", reverseFilter}, {"slice", sliceFilter}, {"sort", sortFilter},
    {"sum", sumFilter},     {"unique", uniqueFilter},
};

}  // namespace

std::span<const FilterEntry> sequenceFilters() { return kFilters; }

}  // namespace sluice::jinja
