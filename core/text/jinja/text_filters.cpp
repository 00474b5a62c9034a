// Filters over text.

#include <algorithm>

#include <fmt/format.h>

#include "core/text/jinja/formatting.h"
#include "core/text/jinja/strings.h"
#include "core/text/jinja/unicode.h"

namespace sluice::jinja {

namespace {

bool isSafe(const Value& value) { return value.isString() && value.as<StringObject>().safe; }

template <Case kTo>
Result<Value> caseFilter(Run& run, const Value& self, Arguments& arguments) {
  TRY(Bound::bind(run, "case filter", arguments, {}));
  const Text text = TRY(run.str(self));
  TRY(run.touch(text.size() * 16));
  return run.string(inCase(text, kTo), isSafe(self));
}

/// `title`: words begin after white space and after - ( { [ <.
Result<Value> titleFilter(Run& run, const Value& self, Arguments& arguments) {
  TRY(Bound::bind(run, "title", arguments, {}));
  const Text text = TRY(run.str(self));
  TRY(run.touch(text.size() * 16));
  const std::string_view view = text.view();
  const auto splits = [](char32_t c) { return isSpace(c) || c == '-' || c == '(' || c == '{' || c == '[' || c == '<'; };
  Text out;
  for (std::size_t at = 0; at < view.size();) {
    const bool separator = splits(decodeAt(view, at).code);
    std::size_t end = at;
    while (end < view.size() && splits(decodeAt(view, end).code) == separator) end += decodeAt(view, end).bytes;
    const std::size_t first = decodeAt(view, at).bytes;
    out.append(inCase(text.slice(at, first), Case::Upper));
    out.append(inCase(text.slice(at + first, end - at - first), Case::Lower));
    at = end;
  }
  return run.string(std::move(out), isSafe(self));
}

Result<Value> trimFilter(Run& run, const Value& self, Arguments& arguments) {
  const Bound bound = TRY(Bound::bind(run, "trim", arguments, {"chars"}));
  const Value chars = bound.get(0, Value());
  if (!chars.is(Kind::None) && !chars.isString()) return run.failType("strip arg must be None or str", chars);
  const Text text = TRY(run.str(self));
  TRY(run.touch(text.size()));
  return run.string(stripped(text, chars.isString() ? std::optional(chars.text().bytes()) : std::nullopt, Side::Both), isSafe(self));
}

Result<Value> centerFilter(Run& run, const Value& self, Arguments& arguments) {
  const Bound bound = TRY(Bound::bind(run, "center", arguments, {"width"}));
  const auto width = indexOf(bound.get(0, Value::integer(80)));
  if (!width) return run.failType("center() takes an integer", bound[0]);
  return run.string(TRY(padded(run, TRY(run.str(self)), *width, 'c', Text(" ", true))), isSafe(self));
}

Result<Value> replaceFilter(Run& run, const Value& self, Arguments& arguments) {
  const Bound bound = TRY(Bound::bind(run, "replace", arguments, {"old", "new", "count"}, 2));
  const Value count = bound.get(2, Value());
  const auto limit = count.is(Kind::None) ? std::optional<std::int64_t>(-1) : indexOf(count);
  if (!limit) return run.failType("replace() takes an integer count", count);
  return run.string(TRY(replaced(run, TRY(run.str(self)), TRY(run.str(bound[0])), TRY(run.str(bound[1])), *limit)));
}

Result<Value> indentFilter(Run& run, const Value& self, Arguments& arguments) {
  const Bound bound = TRY(Bound::bind(run, "indent", arguments, {"width", "first", "blank"}));
  if (!self.isString()) return run.failType("indent takes text", self);
  const Value width = bound.get(0, Value::integer(4));
  Text indention;
  if (width.isString()) {
    indention = width.text();
  } else {
    const auto spaces = indexOf(width);
    if (!spaces) return run.failType("indent's width is an integer or text", width);
    TRY(run.ask(static_cast<std::uint64_t>(std::max<std::int64_t>(*spaces, 0))));
    indention = Text(std::string(static_cast<std::size_t>(std::max<std::int64_t>(*spaces, 0)), ' '), true);
  }
  Text source = self.text();
  source.append("\n", true);
  TRY(run.touch(source.size() * 4));
  const std::vector<Text> lines = splitLines(source, false);
  const bool blank = truthy(bound.get(2, Value::boolean(false)));
  Text out;
  if (truthy(bound.get(1, Value::boolean(false)))) out.append(indention);
  for (std::size_t i = 0; i < lines.size(); ++i) {
    if (i > 0) {
      out.append("\n", true);
      if (blank || !lines[i].empty()) {
        TRY(run.touch(indention.size()));
        TRY(run.ask(2 * (out.weight() + indention.weight())));
        out.append(indention);
      }
    }
    out.append(lines[i]);
  }
  return run.string(std::move(out), isSafe(self));
}

Result<Value> truncateFilter(Run& run, const Value& self, Arguments& arguments) {
  const Bound bound = TRY(Bound::bind(run, "truncate", arguments, {"length", "killwords", "end", "leeway"}));
  const auto length = indexOf(bound.get(0, Value::integer(255)));
  const Value leeway_value = bound.get(3, Value());
  const auto leeway = leeway_value.is(Kind::None) ? std::optional<std::int64_t>(5) : indexOf(leeway_value);
  if (!length || !leeway) return run.fail("truncate's length and leeway must be integers");
  const Text end = bound.has(2) ? TRY(run.str(bound[2])) : Text("...", true);
  const auto end_length = static_cast<std::int64_t>(countCharacters(end.view()));
  if (*length < end_length) return run.fail(fmt::format("expected length >= {}, got {}", end_length, *length));
  if (*leeway < 0) return run.fail(fmt::format("expected leeway >= 0, got {}", *leeway));
  const std::int64_t characters = TRY(run.length(self));
  if (*length >= characters || characters <= *length + std::min(*leeway, characters)) return self;
  if (!self.isString()) return run.failType("truncate takes text", self);
  TRY(run.touch(self.text().size()));
  Text kept = self.text().slice(0, byteOffset(self.text().view(), static_cast<std::size_t>(*length - end_length)));
  if (!truthy(bound.get(1, Value::boolean(false)))) kept = TRY(splitAtFromRight(run, kept, " ", 1)).front();
  kept.append(end);
  return run.string(std::move(kept));
}

Result<Value> escapeFilter(Run& run, const Value& self, Arguments& arguments) {
  TRY(Bound::bind(run, "escape", arguments, {}));
  return run.string(TRY(escapedText(run, self)), true);
}

Result<Value> forceEscapeFilter(Run& run, const Value& self, Arguments& arguments) {
  TRY(Bound::bind(run, "forceescape", arguments, {}));
  return run.string(TRY(escapedText(run, TRY(run.string(TRY(run.str(self)))))), true);
}

Result<Value> safeFilter(Run& run, const Value& self, Arguments& arguments) {
  TRY(Bound::bind(run, "safe", arguments, {}));
  return run.string(TRY(run.str(self)), true);
}

Result<Value> stringFilter(Run& run, const Value& self, Arguments& arguments) {
  TRY(Bound::bind(run, "string", arguments, {}));
  return self.isString() ? self : run.string(TRY(run.str(self)));
}

Result<Value> formatFilter(Run& run, const Value& self, Arguments& arguments) {
  if (!arguments.positional.empty() && !arguments.named.empty()) return run.fail("can't handle positional and keyword arguments at the same time");
  Value given;
  if (arguments.named.empty()) {
    given = TRY(run.list(arguments.positional, Kind::Tuple));
  } else {
    auto names = std::make_shared<DictObject>();
    for (auto& [name, value] : arguments.named) names->set(TRY(run.string(name, true)), value);
    given = TRY(run.dict(std::move(names)));
  }
  return percentFormat(run, self.isString() ? self : TRY(run.string(TRY(run.str(self)))), given);
}

/// Without comments and tags, white space run together, the five common entities read.
Result<Value> stripTagsFilter(Run& run, const Value& self, Arguments& arguments) {
  TRY(Bound::bind(run, "striptags", arguments, {}));
  Text text = TRY(run.str(self));
  TRY(run.touch(text.size() * 8));
  for (const auto& [open, close] : {std::pair<std::string_view, std::string_view>{"<!--", "-->"}, {"<", ">"}}) {
    Text kept;
    std::size_t at = 0;
    for (;;) {
      const std::size_t start = findBytes(text.view(), open, at);
      const std::size_t end = start == std::string_view::npos ? start : findBytes(text.view(), close, start);
      if (end == std::string_view::npos) break;
      kept.append(text, at, start - at);
      at = end + close.size();
    }
    kept.append(text, at, text.size() - at);
    text = std::move(kept);
  }
  Text out;
  for (const Text& word : TRY(splitAt(run, text, std::nullopt, -1))) {
    if (!out.empty()) out.append(" ", true);
    out.append(word);
  }
  static constexpr std::pair<std::string_view, std::string_view> kEntities[] = {
      {"&lt;", "<"}, {"&gt;", ">"}, {"&#34;", "\""}, {"&quot;", "\""}, {"&#39;", "'"}, {"&apos;", "'"}, {"&nbsp;", "\xC2\xA0"}, {"&amp;", "&"}};
  for (const auto& [entity, meant] : kEntities) out = TRY(replaced(run, out, Text(std::string(entity), true), Text(std::string(meant), false), -1));
  return run.string(std::move(out));
}

Text urlQuoted(const Text& text, bool query) {
  Text out;
  for (std::size_t at = 0; at < text.size(); ++at) {
    const auto c = static_cast<unsigned char>(text.bytes()[at]);
    const bool plain = c < 0x80 && (std::isalnum(c) != 0 || c == '_' || c == '.' || c == '-' || c == '~' || (c == '/' && !query));
    if (plain) {
      out.append(text, at, 1);
    } else {
      out.append(query && c == ' ' ? "+" : fmt::format("%{:02X}", c), text.markupAt(at));
    }
  }
  return out;
}

Result<Value> urlEncodeFilter(Run& run, const Value& self, Arguments& arguments) {
  TRY(Bound::bind(run, "urlencode", arguments, {}));
  const bool pairs = self.is(Kind::Dict) || self.is(Kind::List) || self.is(Kind::Tuple) || self.is(Kind::View) || self.is(Kind::Iterator);
  if (!pairs) {
    const Text text = TRY(run.str(self));
    TRY(run.touch(text.size() * 16));
    return run.string(urlQuoted(text, false));
  }
  std::vector<Value> items;
  if (self.is(Kind::Dict)) {
    for (const auto& [key, value] : self.as<DictObject>().items) items.push_back(TRY(run.list({key, value}, Kind::Tuple)));
  } else {
    items = TRY(run.listOf(self));
  }
  Text out;
  for (const Value& item : items) {
    const std::vector<Value> pair = TRY(run.listOf(item));
    if (pair.size() != 2) return run.fail("urlencode takes pairs");
    if (!out.empty()) out.append("&", true);
    for (std::size_t i = 0; i < 2; ++i) {
      const Text text = TRY(run.str(pair[i]));
      TRY(run.touch(text.size() * 16));
      TRY(run.ask(out.weight() + text.size() * 6));
      out.append(urlQuoted(text, true));
      if (i == 0) out.append("=", true);
    }
  }
  return run.string(std::move(out));
}

Result<Value> wordCountFilter(Run& run, const Value& self, Arguments& arguments) {
  TRY(Bound::bind(run, "wordcount", arguments, {}));
  const Text text = TRY(run.str(self));
  TRY(run.touch(text.size() * 8));
  std::int64_t words = 0;
  bool inside = false;
  for (std::size_t at = 0; at < text.size(); at += decodeAt(text.view(), at).bytes) {
    const bool word = isWord(decodeAt(text.view(), at).code);
    if (word && !inside) ++words;
    inside = word;
  }
  return Value::integer(words);
}

Result<Value> xmlAttrFilter(Run& run, const Value& self, Arguments& arguments) {
  const Bound bound = TRY(Bound::bind(run, "xmlattr", arguments, {"autospace"}));
  if (!self.is(Kind::Dict)) return run.failType("xmlattr takes a mapping", self);
  Text out;
  for (const auto& [key, value] : self.as<DictObject>().items) {
    if (value.is(Kind::None) || value.isUndefined()) continue;
    if (!key.isString()) return run.failType("expected string or bytes-like object", key);
    if (key.text().view().find_first_of(" \t\n\r\f\v/>=") != std::string_view::npos) return run.fail("Invalid character in attribute name");
    if (!out.empty()) out.append(" ", true);
    out.append(TRY(escapedText(run, key)));
    out.append("=\"", true);
    out.append(TRY(escapedText(run, value)));
    out.append("\"", true);
    TRY(run.ask(out.weight() * 2));
  }
  if (truthy(bound.get(0, Value::boolean(true))) && !out.empty()) {
    Text spaced(" ", true);
    spaced.append(out);
    out = std::move(spaced);
  }
  return run.string(std::move(out));
}

constexpr FilterEntry kFilters[] = {
    {"capitalize", caseFilter<Case::Capitalize>}, {"center", centerFilter},   {"e", escapeFilter},
    {"escape", escapeFilter},                     {"forceescape", forceEscapeFilter}, {"format", formatFilter},
    {"indent", indentFilter},                     {"lower", caseFilter<Case::Lower>}, {"replace", replaceFilter},
    {"safe", safeFilter},                         {"string", stringFilter},   {"striptags", stripTagsFilter},
    {"title", titleFilter},                       {"trim", trimFilter},       {"truncate", truncateFilter},
    {"upper", caseFilter<Case::Upper>},           {"urlencode", urlEncodeFilter}, {"wordcount", wordCountFilter},
    {"xmlattr", xmlAttrFilter},
};

}  // namespace

std::span<const FilterEntry> textFilters() { return kFilters; }

}  // namespace sluice::jinja
