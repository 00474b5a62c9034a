#include "core/run/grammar/json_schema.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <set>
#include <string>

#include <fmt/format.h>

#include "core/run/grammar/string_pattern.h"

namespace sluice {
namespace {

using Json = nlohmann::ordered_json;
using NodeId = Grammar::NodeId;

constexpr int kNestingMax = 64;
constexpr int kItemsMax = 4096;  // of an array whose schema names no bound
constexpr int kFreeDigits = 16;  // of a number whose schema names no bound, before and after the point

// What a keyword asks for.
const std::set<std::string> kKnown = {"type",       "enum",      "const",     "anyOf",    "$ref",          "$defs",   "definitions", "properties", "required",
                                      "items",      "minItems",  "maxItems",  "pattern",  "format",        "minimum", "maximum",     "exclusiveMinimum",
                                      "exclusiveMaximum", "multipleOf", "minLength", "maxLength", "additionalProperties"};
const std::set<std::string> kRemarks = {"title", "description", "default", "examples", "$schema", "$id", "$comment", "deprecated", "readOnly", "writeOnly"};

// RFC 3339 and friends, as patterns over the string's value.
const std::map<std::string, std::string>& formats() {
  static const std::string kDate =
      "\\d{4}-((0[13578]|1[02])-(0[1-9]|[12]\\d|3[01])|(0[469]|11)-(0[1-9]|[12]\\d|30)|02-(0[1-9]|1\\d|2[0-8]))";
  static const std::string kTime = "([01]\\d|2[0-3]):[0-5]\\d:[0-5]\\d(\\.\\d{1,9})?(Z|[+-]([01]\\d|2[0-3]):[0-5]\\d)";
  static const std::string kLabel = "[A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?";
  static const std::string kByte = "(25[0-5]|2[0-4]\\d|1\\d\\d|[1-9]?\\d)";
  static const std::string kHex = "[0-9a-fA-F]";
  static const std::map<std::string, std::string> kFormats = {
      {"date", "^" + kDate + "$"},
      {"time", "^" + kTime + "$"},
      {"date-time", "^" + kDate + "T" + kTime + "$"},
      {"duration", "^P(\\d{1,9}W|(\\d{1,9}Y(\\d{1,9}M(\\d{1,9}D)?)?|\\d{1,9}M(\\d{1,9}D)?|\\d{1,9}D)(T(\\d{1,9}H(\\d{1,9}M(\\d{1,9}S)?)?|\\d{1,9}M(\\d{1,9}S)?|\\d{1,9}S))?|T(\\d{1,9}H(\\d{1,9}M(\\d{1,9}S)?)?|\\d{1,9}M(\\d{1,9}S)?|\\d{1,9}S))$"},
      {"email", "^[A-Za-z0-9_%+-]{1,32}(\\.[A-Za-z0-9_%+-]{1,16}){0,2}@" + kLabel + "(\\." + kLabel + "){1,3}$"},
      {"hostname", "^" + kLabel + "(\\." + kLabel + "){0,3}$"},
      {"ipv4", "^" + kByte + "(\\." + kByte + "){3}$"},
      {"ipv6", "^" + kHex + "{1,4}(:" + kHex + "{1,4}){7}$"},
      {"uuid", "^" + kHex + "{8}-" + kHex + "{4}-" + kHex + "{4}-" + kHex + "{4}-" + kHex + "{12}$"},
  };
  return kFormats;
}

class SchemaCompiler {
 public:
  explicit SchemaCompiler(const Json& root) : root_(root) {
    ByteSet blanks;
    for (const char c : std::string_view(" \n\t")) blanks.set(std::uint8_t(c));
    blank_ = g_->repeat(g_->bytes(blanks), 0, kJsonBlankMax);
  }

  Result<std::shared_ptr<const Grammar>> compile() {
    const NodeId value = TRY(schemaAt(root_, "", 0));
    return finish(value);
  }

  Result<std::shared_ptr<const Grammar>> object() { return finish(freeObject(freeValue())); }

 private:
  Result<std::shared_ptr<const Grammar>> finish(NodeId value) {
    TRY(g_->finish(g_->sequence({blank_, value}), {}));
    return std::shared_ptr<const Grammar>(std::move(g_));
  }
  static Error fault(const std::string& where, const std::string& what) {
    return Error{Errc::BadRequest, "json schema at '" + (where.empty() ? std::string("#") : "#" + where) + "': " + what};
  }

  Result<NodeId> schemaAt(const Json& s, const std::string& where, int depth) {
    if (depth > kNestingMax) return fault(where, "schemas nest deeper than " + std::to_string(kNestingMax));
    if (s.is_boolean() && s.get<bool>()) return freeValue();
    if (!s.is_object()) return fault(where, "an object was expected");
    for (const auto& [key, unused] : s.items()) {
      if (kKnown.count(key) == 0 && kRemarks.count(key) == 0) return fault(where, "'" + key + "' is not supported in structured output");
    }
    if (s.contains("$ref")) return reference(s["$ref"], where, depth);
    if (s.contains("anyOf")) return anyOf(s, where, depth);
    if (s.contains("const")) return literalOf(s["const"]);
    if (s.contains("enum")) return enumOf(s, where);
    if (!s.contains("type")) {
      if (s.contains("properties")) return objectOf(s, where, depth);
      if (s.contains("items")) return arrayOf(s, where, depth);
      for (const char* key : {"pattern", "format", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf", "minLength", "maxLength"})
        if (s.contains(key)) return fault(where, std::string("'") + key + "' needs a 'type' beside it");
      return freeValue();
    }
    const Json& type = s["type"];
    if (type.is_string()) return typed(type.get<std::string>(), s, where, depth);
    if (!type.is_array() || type.empty()) return fault(where, "'type' is a name or a list of names");
    std::vector<NodeId> ways;
    for (const Json& one : type) {
      if (!one.is_string()) return fault(where, "'type' is a name or a list of names");
      ways.push_back(TRY(typed(one.get<std::string>(), s, where, depth)));
    }
    return g_->choice(std::move(ways));
  }

  Result<NodeId> typed(const std::string& type, const Json& s, const std::string& where, int depth) {
    if (type == "object") return objectOf(s, where, depth);
    if (type == "array") return arrayOf(s, where, depth);
    if (type == "string") return stringOf(s, where);
    if (type == "integer" || type == "number") return numberOf(s, where, type == "integer");
    if (type == "boolean") return g_->choice({g_->literal("true"), g_->literal("false")});
    if (type == "null") return g_->literal("null");
    return fault(where, "unknown type '" + type + "'");
  }

  // A reference is a node filled in once, so that recursion is a loop in the grammar.
  Result<NodeId> reference(const Json& ref, const std::string& where, int depth) {
    if (!ref.is_string()) return fault(where, "'$ref' is a text");
    const std::string pointer = ref.get<std::string>();
    if (pointer.empty() || pointer[0] != '#') return fault(where, "'$ref' \"" + pointer + "\" points outside this schema");
    const auto [it, added] = references_.try_emplace(pointer, 0);
    if (!added) return it->second;
    const NodeId node = it->second = g_->reserve();
    try {
      const Json::json_pointer path(pointer.substr(1));
      if (!root_.contains(path)) return fault(where, "'$ref' \"" + pointer + "\" points at nothing");
      g_->define(node, TRY(schemaAt(root_.at(path), pointer.substr(1), depth + 1)));
    } catch (const Json::exception&) {
      return fault(where, "'$ref' \"" + pointer + "\" is no JSON pointer");
    }
    return node;
  }

  Result<NodeId> anyOf(const Json& s, const std::string& where, int depth) {
    for (const auto& [key, unused] : s.items())
      if (key != "anyOf" && key != "$defs" && key != "definitions" && kRemarks.count(key) == 0)
        return fault(where, "'" + key + "' beside 'anyOf' is not supported; put it into each alternative");
    const Json& list = s["anyOf"];
    if (!list.is_array() || list.empty()) return fault(where, "'anyOf' is a list of schemas");
    std::vector<NodeId> ways;
    for (std::size_t i = 0; i < list.size(); ++i) ways.push_back(TRY(schemaAt(list[i], where + "/anyOf/" + std::to_string(i), depth + 1)));
    return g_->choice(std::move(ways));
  }

  Result<NodeId> literalOf(const Json& value) {
    try {
      return g_->literal(value.dump());
    } catch (const Json::exception&) {
      return Error{Errc::BadRequest, "json schema: a value in 'enum' or 'const' is not UTF-8"};
    }
  }

  Result<NodeId> enumOf(const Json& s, const std::string& where) {
    const Json& list = s["enum"];
    if (!list.is_array() || list.empty()) return fault(where, "'enum' is a list of values");
    std::vector<NodeId> ways;
    for (const Json& value : list) ways.push_back(TRY(literalOf(value)));
    return g_->choice(std::move(ways));
  }

  NodeId quoted(NodeId inside) { return g_->sequence({g_->literal("\""), inside, g_->literal("\"")}); }
  NodeId freeString() {
    if (!free_string_) free_string_ = quoted(g_->repeat(anyStringCharacter(*g_), 0, -1));
    return *free_string_;
  }

  static Result<int> countOf(const Json& s, const char* key, int otherwise, const std::string& where) {
    if (!s.contains(key)) return otherwise;
    const Json& v = s[key];
    if (!v.is_number_integer() || v.get<std::int64_t>() < 0 || v.get<std::int64_t>() > 1'000'000) return fault(where, std::string("'") + key + "' is a whole number from 0 to 1000000");
    return v.get<int>();
  }

  Result<NodeId> stringOf(const Json& s, const std::string& where) {
    const int min = TRY(countOf(s, "minLength", 0, where)), max = TRY(countOf(s, "maxLength", -1, where));
    if (max >= 0 && max < min) return fault(where, "'maxLength' is below 'minLength'");
    const bool bounded = min > 0 || max >= 0;
    if (s.contains("pattern")) {
      if (bounded || s.contains("format")) return fault(where, "'pattern' beside 'format', 'minLength' or 'maxLength' is not supported; say the length in the pattern");
      if (!s["pattern"].is_string()) return fault(where, "'pattern' is a text");
      return quoted(TRY(compilePattern(*g_, s["pattern"].get<std::string>())));
    }
    if (s.contains("format")) {
      const std::string name = s["format"].is_string() ? s["format"].get<std::string>() : std::string();
      const auto it = formats().find(name);
      if (it == formats().end()) return fault(where, "format '" + name + "' is not supported in structured output");
      if (bounded) return fault(where, "'format' beside 'minLength' or 'maxLength' is not supported");
      return quoted(TRY(compilePattern(*g_, it->second)));
    }
    if (!bounded) return freeString();
    return quoted(g_->repeat(anyStringCharacter(*g_), min, max));
  }

  // A JSON number as an integer times 10^-digits, exactly as it was written where nlohmann kept it, else by its shortest spelling.
  static std::optional<std::int64_t> scaled(const Json& v, int digits) {
    if (v.is_number_integer()) {
      __extension__ __int128 x = v.is_number_unsigned() ? static_cast<__int128>(v.get<std::uint64_t>()) : static_cast<__int128>(v.get<std::int64_t>());
      for (int i = 0; i < digits; ++i) x *= 10;
      if (x > INT64_MAX / 2 || x < INT64_MIN / 2) return std::nullopt;
      return std::int64_t(x);
    }
    const double x = v.get<double>() * std::pow(10.0, digits);
    if (!(std::fabs(x) < 4e18)) return std::nullopt;
    return std::int64_t(std::llround(x));
  }
  // Decimals that `v` needs to be exact: those of its shortest spelling.
  static int decimalsOf(const Json& v) {
    if (v.is_number_integer()) return 0;
    const std::string text = fmt::format("{}", v.get<double>());
    if (text.find('e') != std::string::npos) return 12;
    const auto point = text.find('.');
    if (point == std::string::npos) return 0;
    const std::string tail = text.substr(point + 1);
    return tail == "0" ? 0 : int(tail.size());
  }

  Result<NodeId> numberOf(const Json& s, const std::string& where, bool integer) {
    NumberRange range;
    bool bounded = false;
    int decimals = 0;
    for (const char* key : {"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"}) {
      if (!s.contains(key)) continue;
      if (!s[key].is_number()) return fault(where, std::string("'") + key + "' is a number");
      bounded = true;
      decimals = std::max(decimals, decimalsOf(s[key]));
    }
    if (!bounded) {
      range.integer_digits = kFreeDigits;
      range.fraction_digits = integer ? 0 : kFreeDigits;
      range.exponent = !integer;
      return g_->number(range);
    }
    range.fraction_digits = integer ? decimals : std::max(decimals, s.contains("multipleOf") ? decimals : 4);
    if (range.fraction_digits > 9) return fault(where, "bounds with more than 9 decimals are not supported");
    range.integer_digits = 18 - range.fraction_digits;
    const auto bound = [&](const char* key, std::int64_t step, std::int64_t& into) -> Result<Done> {
      if (!s.contains(key)) return Done{};
      const std::optional<std::int64_t> x = scaled(s[key], range.fraction_digits);
      if (!x) return fault(where, std::string("'") + key + "' is too large");
      into = step < 0 ? std::min(into, *x + (step == -2 ? -1 : 0)) : std::max(into, *x + (step == 2 ? 1 : 0));
      return Done{};
    };
    TRY(bound("minimum", 1, range.min));
    TRY(bound("exclusiveMinimum", 2, range.min));
    TRY(bound("maximum", -1, range.max));
    TRY(bound("exclusiveMaximum", -2, range.max));
    if (s.contains("multipleOf")) {
      const std::optional<std::int64_t> m = scaled(s["multipleOf"], range.fraction_digits);
      if (!m || *m < 1) return fault(where, "'multipleOf' is a number above 0");
      range.multiple = *m;
    }
    if (integer && range.fraction_digits > 0) {
      // Whole numbers only: the bounds move inwards to whole ones and the multiple must be whole.
      std::int64_t unit = 1;
      for (int i = 0; i < range.fraction_digits; ++i) unit *= 10;
      if (range.multiple != 1 && range.multiple % unit != 0) return fault(where, "'multipleOf' of an integer is a whole number");
      const auto floorDiv = [](std::int64_t a, std::int64_t b) { return a / b - (a % b < 0 ? 1 : 0); };
      if (range.min != INT64_MIN) range.min = -floorDiv(-range.min, unit);
      if (range.max != INT64_MAX) range.max = floorDiv(range.max, unit);
      range.multiple = std::max<std::int64_t>(1, range.multiple / unit);
      range.fraction_digits = 0;
      range.integer_digits = 18;
    }
    if (!numberPossible(range)) return fault(where, "no number fits the bounds");
    return g_->number(range);
  }

  Result<NodeId> arrayOf(const Json& s, const std::string& where, int depth) {
    const int min = TRY(countOf(s, "minItems", 0, where));
    const int max = TRY(countOf(s, "maxItems", std::max(min, kItemsMax), where));
    if (max < min) return fault(where, "'maxItems' is below 'minItems'");
    const NodeId item = s.contains("items") ? TRY(schemaAt(s["items"], where + "/items", depth + 1)) : freeValue();
    return listOf("[", item, "]", min, max);
  }

  NodeId listOf(std::string_view open, NodeId item, std::string_view close, int min, int max) {
    const NodeId end = g_->sequence({blank_, g_->literal(close)});
    if (max == 0) return g_->sequence({g_->literal(open), end});
    const NodeId more = g_->repeat(g_->sequence({blank_, g_->literal(","), blank_, item}), std::max(0, min - 1), max - 1);
    const NodeId full = g_->sequence({g_->literal(open), blank_, item, more, end});
    return min > 0 ? full : g_->choice({full, g_->sequence({g_->literal(open), end})});
  }

  NodeId member(NodeId key, NodeId value) { return g_->sequence({key, blank_, g_->literal(":"), blank_, value}); }

  // Properties in order. `some` texts carry at least one member already (so a comma comes first), `none` texts carry none yet; built from the
  // last property to the first.
  Result<NodeId> objectOf(const Json& s, const std::string& where, int depth) {
    const Json* extra = s.contains("additionalProperties") ? &s["additionalProperties"] : nullptr;
    const bool has_properties = s.contains("properties") && s["properties"].is_object() && !s["properties"].empty();
    std::set<std::string> required;
    if (s.contains("required")) {
      if (!s["required"].is_array()) return fault(where, "'required' is a list of names");
      for (const Json& name : s["required"]) {
        if (!name.is_string()) return fault(where, "'required' is a list of names");
        if (!has_properties || !s["properties"].contains(name.get<std::string>())) return fault(where, "required property '" + name.get<std::string>() + "' is not among 'properties'");
        required.insert(name.get<std::string>());
      }
    }
    if (!has_properties) {
      if (extra != nullptr && extra->is_boolean() && !extra->get<bool>()) return g_->sequence({g_->literal("{"), blank_, g_->literal("}")});
      if (extra != nullptr && extra->is_object()) return freeObject(TRY(schemaAt(*extra, where + "/additionalProperties", depth + 1)));
      return freeObject(freeValue());
    }
    const NodeId close = g_->sequence({blank_, g_->literal("}")});
    NodeId none = close, some = close;
    std::vector<std::pair<std::string, const Json*>> properties;
    for (const auto& [name, value] : s["properties"].items()) properties.emplace_back(name, &value);
    for (auto it = properties.rbegin(); it != properties.rend(); ++it) {
      const NodeId value = TRY(schemaAt(*it->second, where + "/properties/" + it->first, depth + 1));
      const NodeId pair = member(TRY(literalOf(it->first)), value);
      const NodeId first = g_->sequence({blank_, pair, some});
      const NodeId later = g_->sequence({blank_, g_->literal(","), blank_, pair, some});
      const bool must = required.count(it->first) > 0;
      none = must ? first : g_->choice({first, none});
      some = must ? later : g_->choice({later, some});
    }
    return g_->sequence({g_->literal("{"), none});
  }

  NodeId freeObject(NodeId value) { return listOf("{", member(freeString(), value), "}", 0, kItemsMax); }

  NodeId freeValue() {
    if (free_value_) return *free_value_;
    free_value_ = g_->reserve();
    NumberRange any;
    any.integer_digits = any.fraction_digits = kFreeDigits;
    any.exponent = true;
    const NodeId value = *free_value_;
    g_->define(value, g_->choice({freeString(), g_->number(any), freeObject(value), listOf("[", value, "]", 0, kItemsMax), g_->literal("true"), g_->literal("false"), g_->literal("null")}));
    return value;
  }

  const Json& root_;
  std::shared_ptr<Grammar> g_ = std::make_shared<Grammar>();
  NodeId blank_ = 0;
  std::optional<NodeId> free_string_, free_value_;
  std::map<std::string, NodeId> references_;
};

}  // namespace

Result<std::shared_ptr<const Grammar>> compileJsonSchema(const Json& schema) { return SchemaCompiler(schema).compile(); }

Result<std::shared_ptr<const Grammar>> anyJsonObject() {
  const Json any = Json::object();
  return SchemaCompiler(any).object();
}

}  // namespace sluice
