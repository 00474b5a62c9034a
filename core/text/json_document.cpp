#include "core/text/json_document.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/text/utf8.h"

namespace sluice {
namespace {

// Vendors' files nest 8 deep.
constexpr std::size_t kDepthMax = 64;

// simdjson says what is wrong and not where; this slower reader is asked only for the place.
class FaultFinder : public nlohmann::json_sax<nlohmann::json> {
 public:
  std::size_t fault_at = std::string::npos;
  bool null() override { return true; }
  bool boolean(bool) override { return true; }
  bool number_integer(number_integer_t) override { return true; }
  bool number_unsigned(number_unsigned_t) override { return true; }
  bool number_float(number_float_t, const string_t&) override { return true; }
  bool string(string_t&) override { return true; }
  bool binary(binary_t&) override { return true; }
  bool key(string_t&) override { return true; }
  bool start_object(std::size_t) override { return true; }
  bool end_object() override { return true; }
  bool start_array(std::size_t) override { return true; }
  bool end_array() override { return true; }
  bool parse_error(std::size_t position, const std::string&, const nlohmann::detail::exception&) override {
    fault_at = position > 0 ? position - 1 : 0;
    return false;
  }
};

// The byte at which the nesting first exceeds kDepthMax.
std::size_t deepestAt(std::string_view json) {
  std::size_t depth = 0;
  bool in_string = false;
  for (std::size_t i = 0; i < json.size(); ++i) {
    if (in_string) {
      if (json[i] == '\\') ++i;
      else if (json[i] == '"') in_string = false;
    } else if (json[i] == '"') {
      in_string = true;
    } else if (json[i] == '[' || json[i] == '{') {
      if (++depth > kDepthMax) return i;
    } else if (json[i] == ']' || json[i] == '}') {
      if (depth > 0) --depth;
    }
  }
  return std::string_view::npos;
}

std::string placeOf(std::string_view json, std::size_t at) {
  at = std::min(at, json.size());
  const std::string_view before = json.substr(0, at);
  const auto line = 1 + std::count(before.begin(), before.end(), '\n');
  const std::size_t newline = before.rfind('\n');
  const std::size_t column = 1 + (newline == std::string_view::npos ? at : at - newline - 1);
  return fmt::format("line {}, column {} (byte {} of {})", line, column, at, json.size());
}

Error notJson(std::string_view json, std::string_view name, simdjson::error_code fault) {
  std::size_t at = std::string_view::npos;
  if (fault == simdjson::DEPTH_ERROR) {
    at = deepestAt(json);
  } else if (const std::size_t bad = utf8FaultAt(json); bad != std::string_view::npos) {
    return Error{Errc::Corrupt, fmt::format("{}: {}: not UTF-8", name, placeOf(json, bad))};
  } else {
    FaultFinder finder;
    nlohmann::json::sax_parse(json.begin(), json.end(), &finder);
    at = finder.fault_at;
  }
  if (json.empty()) return Error{Errc::Corrupt, fmt::format("{}: byte 0: the file is empty", name)};
  return Error{Errc::Corrupt, fmt::format("{}: {}: not a JSON text: {}", name, placeOf(json, at == std::string_view::npos ? json.size() : at),
                                          fault == simdjson::DEPTH_ERROR ? fmt::format("nested deeper than {}", kDepthMax) : simdjson::error_message(fault))};
}

}  // namespace

std::string_view kindOf(simdjson::dom::element value) {
  switch (value.type()) {
    case simdjson::dom::element_type::ARRAY: return "an array";
    case simdjson::dom::element_type::OBJECT: return "an object";
    case simdjson::dom::element_type::INT64:
    case simdjson::dom::element_type::UINT64: return "an integer";
    case simdjson::dom::element_type::DOUBLE: return "a fraction";
    case simdjson::dom::element_type::STRING: return "a string";
    case simdjson::dom::element_type::BOOL: return "a boolean";
    case simdjson::dom::element_type::NULL_VALUE: return "null";
  }
  return "a value";
}

Error JsonNode::complain(Errc code, std::string_view fault) const {
  return Error{code, place_.empty() ? fmt::format("{}: {}", file_, fault) : fmt::format("{}: {}: {}", file_, place_, fault)};
}

Result<std::optional<JsonNode>> JsonNode::optional(std::string_view key) const {
  simdjson::dom::object object;
  if (value_.get(object) != simdjson::SUCCESS) return corrupt(fmt::format("{} where an object must be", kindOf(value_)));
  std::optional<simdjson::dom::element> found;
  for (const auto field : object) {
    if (field.key != key) continue;
    if (found) return corrupt(fmt::format("the key '{}' is there twice", key));
    found = field.value;
  }
  if (!found || found->is_null()) return std::optional<JsonNode>();
  return std::optional<JsonNode>(JsonNode(*found, file_, place_.empty() ? std::string(key) : fmt::format("{}.{}", place_, key)));
}

Result<JsonNode> JsonNode::member(std::string_view key) const {
  auto found = TRY(optional(key));
  if (!found) return corrupt(fmt::format("'{}' is missing", key));
  return std::move(*found);
}

Result<std::vector<JsonNode>> JsonNode::elements() const {
  simdjson::dom::array array;
  if (value_.get(array) != simdjson::SUCCESS) return corrupt(fmt::format("{} where an array must be", kindOf(value_)));
  std::vector<JsonNode> all;
  for (const simdjson::dom::element e : array) all.emplace_back(e, file_, fmt::format("{}[{}]", place_, all.size()));
  return all;
}

Result<std::string_view> JsonNode::string() const {
  std::string_view text;
  if (value_.get(text) != simdjson::SUCCESS) return corrupt(fmt::format("{} where a string must be", kindOf(value_)));
  if (const std::size_t at = utf8FaultAt(text); at != std::string_view::npos) return corrupt(fmt::format("the string has half a surrogate pair at its byte {}", at));
  return text;
}

Result<bool> JsonNode::boolean() const {
  bool b = false;
  if (value_.get(b) != simdjson::SUCCESS) return corrupt(fmt::format("{} where true or false must be", kindOf(value_)));
  return b;
}

Result<std::uint32_t> JsonNode::id() const {
  std::uint64_t n = 0;
  std::int64_t negative = 0;
  if (value_.get(n) == simdjson::SUCCESS) {
    if (n > 0xFFFFFFFFu) return corrupt(fmt::format("the id {} is beyond 32 bits", n));
    return std::uint32_t(n);
  }
  if (value_.get(negative) == simdjson::SUCCESS) return corrupt(fmt::format("the id {} is negative", negative));
  return corrupt(fmt::format("{} where an id must be", kindOf(value_)));
}

Result<bool> JsonNode::flag(std::string_view key, bool otherwise) const {
  const auto found = TRY(optional(key));
  return found ? found->boolean() : Result<bool>(otherwise);
}

Result<std::string_view> JsonNode::type() const {
  const JsonNode node = TRY(member("type"));
  return node.string();
}

Result<JsonDocument> JsonDocument::parse(std::string_view json, std::string_view name) {
  auto parser = std::make_unique<simdjson::dom::parser>();
  if (const auto fault = parser->allocate(std::max<std::size_t>(json.size(), 32), kDepthMax); fault != simdjson::SUCCESS)
    return Error{Errc::OutOfBudget, fmt::format("{}: no memory to read {} bytes of JSON", name, json.size())};
  simdjson::dom::element root;
  if (const auto fault = parser->parse(json.data(), json.size()).get(root); fault != simdjson::SUCCESS) return notJson(json, name, fault);
  if (!root.is_object()) return Error{Errc::Corrupt, fmt::format("{}: byte 0: {} where an object must be", name, kindOf(root))};
  return JsonDocument(std::move(parser), root, std::make_unique<std::string>(name));
}

}  // namespace sluice
