#include "core/text/jinja/json.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "core/text/chat_json.h"
#include "core/text/jinja/numbers.h"
#include "core/text/jinja/sorting.h"

namespace sluice::jinja {

Result<Value> valueOf(Run& run, const nlohmann::ordered_json& json, bool markup) {
  using Type = nlohmann::ordered_json::value_t;
  TRY(run.checkStack());
  switch (json.type()) {
    case Type::null:
    case Type::discarded: return Value::none(!markup);
    case Type::boolean: return Value::boolean(json.get<bool>(), !markup);
    case Type::number_integer: return Value::integer(json.get<std::int64_t>(), !markup);
    case Type::number_unsigned: {
      const auto number = json.get<std::uint64_t>();
      if (number <= INT64_MAX) return Value::integer(static_cast<std::int64_t>(number), !markup);
      return integerValue(*BigInt::parse(std::to_string(number), 10), !markup);
    }
    case Type::number_float: return Value::real(json.get<double>(), !markup);
    case Type::binary: {
      const auto spelled = bigIntegerSpelling(json);
      const auto number = spelled ? readInteger(*spelled, 10) : std::nullopt;
      if (!number) return run.fail("the request holds binary data, which no template can print");
      Value value = *number;
      value.setClient(!markup);
      return value;
    }
    case Type::string: return run.string(Text(json.get_ref<const std::string&>(), markup));
    case Type::array: {
      std::vector<Value> items;
      items.reserve(json.size());
      for (const auto& item : json) items.push_back(TRY(valueOf(run, item, markup)));
      return run.list(std::move(items));
    }
    case Type::object: {
      auto dict = std::make_shared<DictObject>();
      dict->items.reserve(json.size());
      for (const auto& [key, item] : json.items()) dict->set(TRY(run.string(key, markup)), TRY(valueOf(run, item, markup)));
      return run.dict(std::move(dict));
    }
  }
  UNREACHABLE();
}

void quoteJson(std::string_view text, bool ensure_ascii, std::string& out) {
  out.push_back('"');
  for (std::size_t at = 0; at < text.size();) {
    const CodePoint c = decodeAt(text, at);
    const auto code = static_cast<std::uint32_t>(c.code);
    if (code == '"' || code == '\\') {
      out += {'\\', static_cast<char>(code)};
    } else if (code >= 0x20 && (code < 0x7F || !ensure_ascii)) {
      out.append(text.substr(at, c.bytes));
    } else if (code == '\n' || code == '\r' || code == '\t' || code == '\f' || code == '\b') {
      out += {'\\', code == '\n' ? 'n' : code == '\r' ? 'r' : code == '\t' ? 't' : code == '\f' ? 'f' : 'b'};
    } else if (code < 0x10000) {
      out += fmt::format("\\u{:04x}", code);
    } else {
      out += fmt::format("\\u{:04x}\\u{:04x}", 0xD800 + ((code - 0x10000) >> 10), 0xDC00 + ((code - 0x10000) & 0x3FF));
    }
    at += c.bytes;
  }
  out.push_back('"');
}

std::string spellJsonFloat(double value) {
  if (std::isnan(value)) return "NaN";
  if (std::isinf(value)) return value < 0 ? "-Infinity" : "Infinity";
  return spellFloat(value);
}

namespace {

/// json.dumps with its arguments.
class Dumper {
 public:
  Dumper(Run& run, bool sort_keys, bool ensure_ascii) : run_(run), sort_keys_(sort_keys), ensure_ascii_(ensure_ascii) {}

  Result<Done> shape(const Value& indent, const Value& separators) {
    if (indent.isString()) {
      indent_ = indent.text().bytes();
    } else if (!indent.is(Kind::None)) {
      const auto spaces = indexOf(indent);
      if (!spaces) return run_.failType("tojson's indent is an integer or text", indent);
      TRY(run_.ask(static_cast<std::uint64_t>(std::max<std::int64_t>(*spaces, 0))));
      indent_ = std::string(static_cast<std::size_t>(std::max<std::int64_t>(*spaces, 0)), ' ');
    }
    item_separator_ = indent_ ? "," : ", ";
    if (separators.is(Kind::None)) return Done{};
    const std::vector<Value> pair = TRY(run_.listOf(separators));
    if (pair.size() != 2 || !pair[0].isString() || !pair[1].isString()) return run_.fail("tojson's separators are two strings");
    item_separator_ = pair[0].text().bytes();
    key_separator_ = pair[1].text().bytes();
    return Done{};
  }

  Result<Done> dump(const Value& value, std::size_t level) {
    TRY(run_.checkStack());
    TRY(run_.step(value.is(Kind::Big) ? weightOf(value) : 1));
    switch (value.kind()) {
      case Kind::None: return say("null");
      case Kind::Bool: return say(value.asBool() ? "true" : "false");
      case Kind::Int:
      case Kind::Big: return say(spellNumber(value));
      case Kind::Float: return say(spellJsonFloat(value.asFloat()));
      case Kind::String:
        TRY(run_.touch(value.text().size()));
        TRY(run_.ask(value.text().size() * 6));
        quoteJson(value.text().view(), ensure_ascii_, out_);
        return Done{};
      case Kind::List:
      case Kind::Tuple: {
        if (value.items().empty()) return say("[]");
        TRY(say("["));
        for (std::size_t i = 0; i < value.items().size(); ++i) {
          TRY(between(i == 0, level + 1));
          TRY(dump(value.items()[i], level + 1));
        }
        return close("]", level);
      }
      case Kind::Dict: return dumpDict(value.as<DictObject>(), level);
      case Kind::Range:
      case Kind::View:
      case Kind::Iterator:
      case Kind::Undefined:
      case Kind::Namespace:
      case Kind::Macro:
      case Kind::Function:
      case Kind::Method:
      case Kind::Loop:
      case Kind::Cycler:
      case Kind::Joiner: break;
    }
    return run_.fail(fmt::format("Object of type {} is not JSON serializable", typeName(value)));
  }

  std::string take() { return std::move(out_); }

 private:
  Result<Done> say(std::string_view text) {
    TRY(run_.ask(2 * (out_.size() + text.size())));
    TRY(run_.touch(text.size()));
    out_ += text;
    return Done{};
  }

  Result<Done> newLine(std::size_t level) {
    if (!indent_) return Done{};
    TRY(say("\n"));
    for (std::size_t i = 0; i < level; ++i) TRY(say(*indent_));
    return Done{};
  }

  Result<Done> between(bool first, std::size_t level) {
    if (!first) TRY(say(item_separator_));
    return newLine(level);
  }

  Result<Done> close(std::string_view bracket, std::size_t level) {
    TRY(newLine(level));
    return say(bracket);
  }

  Result<Done> dumpDict(const DictObject& dict, std::size_t level) {
    if (dict.items.empty()) return say("{}");
    std::vector<Keyed> rows;
    for (const auto& [key, value] : dict.items) rows.push_back({{key}, value});
    if (sort_keys_) TRY(sortKeyed(run_, rows, KeyKind::Plain, false));
    TRY(say("{"));
    for (std::size_t i = 0; i < rows.size(); ++i) {
      TRY(between(i == 0, level + 1));
      const Value& key = rows[i].keys[0];
      if (key.isString()) {
        TRY(dump(key, level));
      } else if (key.is(Kind::None) || key.isNumber()) {
        TRY(say("\""));
        TRY(dump(key, level));
        TRY(say("\""));
      } else {
        return run_.fail(fmt::format("keys must be str, int, float, bool or None, not {}", typeName(key)));
      }
      TRY(say(key_separator_));
      TRY(dump(rows[i].item, level + 1));
    }
    return close("}", level);
  }

  Run& run_;
  bool sort_keys_, ensure_ascii_;
  std::optional<std::string> indent_;
  std::string item_separator_ = ", ", key_separator_ = ": ";
  std::string out_;
};

}  // namespace

// JSON is data, whoever wrote its strings: none of it is markup, so no quoting can be escaped into a control token.
Result<Text> Run::dumpJson(const Value& value, const Value& indent, const Value& separators, bool sort_keys, bool ensure_ascii) {
  Dumper dumper(*this, sort_keys, ensure_ascii);
  TRY(dumper.shape(indent, separators));
  TRY(dumper.dump(value, 0));
  return Text(dumper.take(), false);
}

}  // namespace sluice::jinja
