// Methods of str that cut, search and change text.

#include <algorithm>

#include <fmt/format.h>

#include "core/text/jinja/formatting.h"
#include "core/text/jinja/strings.h"

namespace sluice::jinja {

namespace {

Result<Value> madeOf(Run& run, const Value& self, Text text) { return run.string(std::move(text), self.as<StringObject>().safe); }

template <Case kTo>
Result<Value> inCaseMethod(Run& run, const Value& self, Arguments& arguments) {
  TRY(Bound::bind(run, "case method", arguments, {}));
  TRY(run.touch(self.text().size() * 16));
  return madeOf(run, self, inCase(self.text(), kTo));
}

template <Side kSide>
Result<Value> stripMethod(Run& run, const Value& self, Arguments& arguments) {
  const Bound bound = TRY(Bound::bind(run, "strip", arguments, {"chars"}));
  const Value chars = bound.get(0, Value());
  if (!chars.is(Kind::None) && !chars.isString()) return run.failType("strip arg must be None or str", chars);
  TRY(run.touch(self.text().size()));
  return madeOf(run, self, stripped(self.text(), chars.isString() ? std::optional(chars.text().bytes()) : std::nullopt, kSide));
}

Result<Value> listOfTexts(Run& run, const Value& self, std::vector<Text> pieces) {
  std::vector<Value> items;
  items.reserve(pieces.size());
  for (Text& piece : pieces) items.push_back(TRY(madeOf(run, self, std::move(piece))));
  return run.list(std::move(items));
}

template <bool kFromRight>
Result<Value> splitMethod(Run& run, const Value& self, Arguments& arguments) {
  const Bound bound = TRY(Bound::bind(run, "split", arguments, {"sep", "maxsplit"}));
  const Value separator = bound.get(0, Value());
  const auto limit = indexOf(bound.get(1, Value::integer(-1)));
  if (!limit) return run.failType("maxsplit must be an integer", bound[1]);
  if (!separator.is(Kind::None) && !separator.isString()) return run.failType("must be str or None", separator);
  if (separator.isString() && separator.text().empty()) return run.fail("empty separator");
  const auto at = separator.isString() ? std::optional(separator.text().bytes()) : std::nullopt;
  return listOfTexts(run, self, TRY(kFromRight ? splitAtFromRight(run, self.text(), at, *limit) : splitAt(run, self.text(), at, *limit)));
}

Result<Value> splitLinesMethod(Run& run, const Value& self, Arguments& arguments) {
  const Bound bound = TRY(Bound::bind(run, "splitlines", arguments, {"keepends"}));
  TRY(run.touch(self.text().size() * 64));
  TRY(run.ask(self.text().size() * sizeof(Text)));
  return listOfTexts(run, self, splitLines(self.text(), truthy(bound.get(0, Value::boolean(false)))));
}

Result<Value> replaceMethod(Run& run, const Value& self, Arguments& arguments) {
  const Bound bound = TRY(Bound::bind(run, "replace", arguments, {"old", "new", "count"}, 2));
  const auto limit = indexOf(bound.get(2, Value::integer(-1)));
  if (!limit) return run.failType("count must be an integer", bound[2]);
  for (std::size_t i = 0; i < 2; ++i)
    if (!bound[i].isString()) return run.failType("replace() arguments must be str", bound[i]);
  return madeOf(run, self, TRY(replaced(run, self.text(), bound[0].text(), bound[1].text(), *limit)));
}

/// The part [start, end) of a search, in bytes; start beyond the end finds nothing, not even "".
struct Window {
  std::size_t from = 0, end = 0;
  bool valid = true;
};
Result<Window> windowOf(Run& run, const Value& self, const Bound& bound) {
  const auto size = static_cast<std::int64_t>(self.as<StringObject>().characters);
  std::int64_t ends[2] = {0, size};
  for (std::size_t i = 0; i < 2; ++i) {
    const Value given = bound.get(i + 1, Value());
    if (given.is(Kind::None)) continue;
    const auto index = indexOf(given);
    if (!index) return run.failType("slice indices must be integers or None", given);
    ends[i] = *index < 0 ? std::max<std::int64_t>(*index + size, 0) : *index;
  }
  TRY(run.touch(self.text().size() * 4));
  if (ends[0] > size) return Window{0, 0, false};
  ends[1] = std::min(ends[1], size);
  if (ends[0] > ends[1]) return Window{0, 0, false};
  const auto offset = [&](std::int64_t i) {
    return self.as<StringObject>().ascii() ? static_cast<std::size_t>(i) : byteOffset(self.text().view(), static_cast<std::size_t>(i));
  };
  return Window{offset(ends[0]), offset(ends[1]), true};
}

template <bool kLast, bool kMustFind>
Result<Value> findMethod(Run& run, const Value& self, Arguments& arguments) {
  const Bound bound = TRY(Bound::bind(run, "find", arguments, {"sub", "start", "end"}, 1));
  if (!bound[0].isString()) return run.failType("must be str", bound[0]);
  const Window window = TRY(windowOf(run, self, bound));
  const std::string_view text = self.text().view(), needle = bound[0].text().view();
  std::size_t found = std::string_view::npos;
  if (window.valid) found = kLast ? TRY(findLast(run, text, needle, window.from, window.end)) : findBytes(text.substr(0, window.end), needle, window.from);
  if (found == std::string_view::npos) return kMustFind ? Result<Value>(run.fail("substring not found")) : Result<Value>(Value::integer(-1));
  return Value::integer(static_cast<std::int64_t>(countCharacters(text.substr(0, found))));
}

Result<Value> countMethod(Run& run, const Value& self, Arguments& arguments) {
  const Bound bound = TRY(Bound::bind(run, "count", arguments, {"sub", "start", "end"}, 1));
  if (!bound[0].isString()) return run.failType("must be str", bound[0]);
  const Window window = TRY(windowOf(run, self, bound));
  if (!window.valid) return Value::integer(0);
  const std::string_view text = self.text().view().substr(0, window.end), needle = bound[0].text().view();
  if (needle.empty()) return Value::integer(static_cast<std::int64_t>(countCharacters(text.substr(window.from))) + 1);
  std::int64_t count = 0;
  for (std::size_t at = findBytes(text, needle, window.from); at != std::string_view::npos; at = findBytes(text, needle, at + needle.size())) ++count;
  return Value::integer(count);
}

template <bool kEnd>
Result<Value> startsMethod(Run& run, const Value& self, Arguments& arguments) {
  const Bound bound = TRY(Bound::bind(run, kEnd ? "endswith" : "startswith", arguments, {"prefix", "start", "end"}, 1));
  const std::vector<Value> candidates = bound[0].is(Kind::Tuple) ? bound[0].items() : std::vector<Value>{bound[0]};
  const Window window = TRY(windowOf(run, self, bound));
  const std::string_view text = self.text().view().substr(window.from, window.end - window.from);
  for (const Value& candidate : candidates) {
    if (!candidate.isString()) return run.failType(kEnd ? "endswith first arg must be str or a tuple of str" : "startswith first arg must be str or a tuple of str", candidate);
    const std::string_view part = candidate.text().view();
    TRY(run.touch(part.size()));
    if (!window.valid || part.size() > text.size()) continue;
    if ((kEnd ? text.substr(text.size() - part.size()) : text.substr(0, part.size())) == part) return Value::boolean(true);
  }
  return Value::boolean(false);
}

Result<Value> joinMethod(Run& run, const Value& self, Arguments& arguments) {
  const Bound bound = TRY(Bound::bind(run, "join", arguments, {"iterable"}, 1));
  auto next = TRY(run.iterate(bound[0]));
  Text out;
  Value item;
  for (std::size_t i = 0; TRY(next(item)); ++i) {
    if (!item.isString()) return run.fail(fmt::format("sequence item {}: expected str instance, {} found", i, typeName(item)));
    TRY(run.touch(self.text().size() + item.text().size()));
    TRY(run.ask(2 * (out.weight() + self.text().weight() + item.text().weight())));
    if (i > 0) out.append(self.text());
    out.append(item.text());
  }
  return madeOf(run, self, std::move(out));
}

template <bool kLast>
Result<Value> partitionMethod(Run& run, const Value& self, Arguments& arguments) {
  const Bound bound = TRY(Bound::bind(run, "partition", arguments, {"sep"}, 1));
  if (!bound[0].isString()) return run.failType("must be str", bound[0]);
  const Text &text = self.text(), &separator = bound[0].text();
  if (separator.empty()) return run.fail("empty separator");
  TRY(run.touch(text.size()));
  const std::size_t found =
      kLast ? TRY(findLast(run, text.view(), separator.view(), 0, text.size())) : findBytes(text.view(), separator.view(), 0);
  Text parts[3];
  if (found == std::string_view::npos) {
    parts[kLast ? 2 : 0] = text;
  } else {
    parts[0] = text.slice(0, found);
    parts[1] = separator;
    parts[2] = text.slice(found + separator.size(), text.size() - found - separator.size());
  }
  std::vector<Value> items;
  for (Text& part : parts) items.push_back(TRY(madeOf(run, self, std::move(part))));
  return run.list(std::move(items), Kind::Tuple);
}

template <bool kSuffix>
Result<Value> removeMethod(Run& run, const Value& self, Arguments& arguments) {
  const Bound bound = TRY(Bound::bind(run, "removeprefix", arguments, {"part"}, 1));
  if (!bound[0].isString()) return run.failType("must be str", bound[0]);
  const std::string_view text = self.text().view(), part = bound[0].text().view();
  TRY(run.touch(part.size()));
  if (part.size() > text.size()) return self;
  const std::size_t at = kSuffix ? text.size() - part.size() : 0;
  if (text.substr(at, part.size()) != part) return self;
  return madeOf(run, self, self.text().slice(kSuffix ? 0 : part.size(), text.size() - part.size()));
}

Result<Value> formatMethod(Run& run, const Value& self, Arguments& arguments) { return braceFormat(run, self, arguments); }

Result<Value> formatMapMethod(Run& run, const Value& self, Arguments& arguments) {
  const Bound bound = TRY(Bound::bind(run, "format_map", arguments, {"mapping"}, 1));
  if (!bound[0].is(Kind::Dict)) return run.failType("format_map takes a mapping", bound[0]);
  Arguments named;
  for (const auto& [key, value] : bound[0].as<DictObject>().items)
    if (key.isString()) named.named.emplace_back(key.text().bytes(), value);
  return braceFormat(run, self, named);
}

Result<Value> bytesMethod(Run& run, const Value&, Arguments&) { return run.fail("encode(), translate() and maketrans() of str are not supported here"); }

constexpr MethodEntry kMethods[] = {
    {"strip", stripMethod<Side::Both>},
    {"split", splitMethod<false>},
    {"startswith", startsMethod<false>},
    {"endswith", startsMethod<true>},
    {"lstrip", stripMethod<Side::Left>},
    {"rstrip", stripMethod<Side::Right>},
    {"replace", replaceMethod},
    {"upper", inCaseMethod<Case::Upper>},
    {"lower", inCaseMethod<Case::Lower>},
    {"title", inCaseMethod<Case::Title>},
    {"capitalize", inCaseMethod<Case::Capitalize>},
    {"swapcase", inCaseMethod<Case::Swap>},
    {"casefold", inCaseMethod<Case::Fold>},
    {"find", findMethod<false, false>},
    {"rfind", findMethod<true, false>},
    {"index", findMethod<false, true>},
    {"rindex", findMethod<true, true>},
    {"count", countMethod},
    {"join", joinMethod},
    {"format", formatMethod},
    {"format_map", formatMapMethod},
    {"rsplit", splitMethod<true>},
    {"splitlines", splitLinesMethod},
    {"partition", partitionMethod<false>},
    {"rpartition", partitionMethod<true>},
    {"removeprefix", removeMethod<false>},
    {"removesuffix", removeMethod<true>},
    {"encode", bytesMethod},
    {"translate", bytesMethod},
    {"maketrans", bytesMethod},
};

}  // namespace

std::span<const MethodEntry> stringMethods() { return kMethods; }

}  // namespace sluice::jinja
