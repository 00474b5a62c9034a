// str() and repr(): how Python prints values.

#include <fmt/format.h>

#include "core/text/jinja/run.h"
#include "core/text/jinja/unicode.h"

namespace sluice::jinja {

namespace {

/// repr of a string: single quotes unless it holds some and no double ones.
void quoteInto(const Text& text, Text& out) {
  const std::string_view view = text.view();
  const bool doubles = view.find('\'') != std::string_view::npos && view.find('"') == std::string_view::npos;
  std::string quoted(1, doubles ? '"' : '\'');
  for (std::size_t at = 0; at < view.size();) {
    const CodePoint c = decodeAt(view, at);
    const auto code = static_cast<std::uint32_t>(c.code);
    if (code == '\\' || (code == '\'' && !doubles)) {
      quoted += {'\\', static_cast<char>(code)};
    } else if (code == '\n') {
      quoted += "\\n";
    } else if (code == '\r') {
      quoted += "\\r";
    } else if (code == '\t') {
      quoted += "\\t";
    } else if (isPrintable(c.code)) {
      quoted.append(view.substr(at, c.bytes));
    } else {
      quoted += code < 0x100 ? fmt::format("\\x{:02x}", code) : code < 0x10000 ? fmt::format("\\u{:04x}", code) : fmt::format("\\U{:08x}", code);
    }
    at += c.bytes;
  }
  quoted.push_back(doubles ? '"' : '\'');
  out.append(quoted, false);
}

}  // namespace

Result<Text> Run::str(const Value& value) {
  if (value.is(Kind::Big)) TRY(step(weightOf(value)));
  switch (value.kind()) {
    case Kind::String: return value.text();
    case Kind::Undefined: return Text();
    case Kind::None: return Text("None", !value.client());
    case Kind::Bool:
    case Kind::Int:
    case Kind::Big:
    case Kind::Float: return Text(spellNumber(value), !value.client());
    case Kind::List:
    case Kind::Tuple:
    case Kind::Dict:
    case Kind::Range:
    case Kind::View:
    case Kind::Iterator:
    case Kind::Namespace:
    case Kind::Macro:
    case Kind::Function:
    case Kind::Method:
    case Kind::Loop:
    case Kind::Cycler:
    case Kind::Joiner: return repr(value);
  }
  UNREACHABLE();
}

Result<Text> Run::repr(const Value& value) {
  Text out;
  TRY(reprInto(value, out));
  return out;
}

// A repr is data, whoever wrote its parts: none of it is markup.
Result<Done> Run::reprInto(const Value& value, Text& out) {
  TRY(checkStack());
  TRY(step(value.is(Kind::Big) ? weightOf(value) : 1));
  const auto say = [&](std::string_view text) { out.append(text, false); };
  const auto all = [&](std::string_view open, const std::vector<Value>& items, std::string_view close) -> Result<Done> {
    say(open);
    for (std::size_t i = 0; i < items.size(); ++i) {
      if (i > 0) say(", ");
      TRY(reprInto(items[i], out));
    }
    say(close);
    return Done{};
  };
  if (out.size() > limits_.output_bytes) return fail("a value's spelling is too long");
  switch (value.kind()) {
    case Kind::String:
      TRY(touch(value.text().size()));
      TRY(ask(value.text().size() * 4));
      if (value.as<StringObject>().safe) say("Markup(");
      quoteInto(value.text(), out);
      if (value.as<StringObject>().safe) say(")");
      return Done{};
    case Kind::Undefined: say("Undefined"); return Done{};
    case Kind::None: say("None"); return Done{};
    case Kind::Bool:
    case Kind::Int:
    case Kind::Big:
    case Kind::Float: say(spellNumber(value)); return Done{};
    case Kind::List: return all("[", value.items(), "]");
    case Kind::Tuple: return all("(", value.items(), value.items().size() == 1 ? ",)" : ")");
    case Kind::Dict: {
      say("{");
      bool first = true;
      for (const auto& [key, item] : value.as<DictObject>().items) {
        if (!first) say(", ");
        first = false;
        TRY(reprInto(key, out));
        say(": ");
        TRY(reprInto(item, out));
      }
      say("}");
      return Done{};
    }
    case Kind::Range: {
      const auto& range = value.as<RangeObject>();
      say(fmt::format("range({}, {}", range.start, range.stop));
      if (range.step != 1) say(fmt::format(", {}", range.step));
      say(")");
      return Done{};
    }
    case Kind::View:
      say(typeName(value));
      return all("([", TRY(listOf(value)), "])");
    case Kind::Namespace: {
      say("<Namespace {");
      bool first = true;
      for (const auto& [name, item] : value.as<NamespaceObject>().attributes) {
        if (!first) say(", ");
        first = false;
        quoteInto(Text(name, true), out);
        say(": ");
        TRY(reprInto(item, out));
      }
      say("}>");
      return Done{};
    }
    case Kind::Macro: {
      const Callable& callable = *value.as<MacroObject>().callable;
      say("<Macro ");
      if (callable.name.empty()) {
        say("anonymous");
      } else {
        quoteInto(Text(callable.name, true), out);
      }
      say(">");
      return Done{};
    }
    case Kind::Loop:
      say(fmt::format("<LoopContext {}/{}>", value.as<LoopObject>().index0 + 1, TRY(length(value))));
      return Done{};
    case Kind::Iterator:
    case Kind::Function:
    case Kind::Method:
    case Kind::Cycler:
    case Kind::Joiner: return fail(fmt::format("printing a '{}' object would print an address, not text", typeName(value)));
  }
  UNREACHABLE();
}

}  // namespace sluice::jinja
