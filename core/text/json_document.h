#pragma once
// A tokenizer.json as values that know their place, so that every complaint names the file, the place and the fault.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <simdjson.h>

#include "core/base/result.h"

namespace sluice {

/// One value and where it stands. Valid while its JsonDocument lives. Cheap to copy but for the place's text.
class JsonNode {
 public:
  JsonNode(simdjson::dom::element value, std::string_view file, std::string place) : value_(value), file_(file), place_(std::move(place)) {}

  const std::string& place() const { return place_; }
  simdjson::dom::element raw() const { return value_; }
  bool isNull() const { return value_.is_null(); }

  /// Another value of the same file.
  JsonNode sibling(simdjson::dom::element value, std::string place) const { return JsonNode(value, file_, std::move(place)); }

  /// An Error about this value: "FILE: PLACE: `fault`".
  Error corrupt(std::string_view fault) const { return complain(Errc::Corrupt, fault); }
  Error unsupported(std::string_view fault) const { return complain(Errc::Unsupported, fault); }
  Error complain(Errc code, std::string_view fault) const;

  /// The member `key` of an object. errors  Corrupt: this is no object, the key is missing or there twice
  Result<JsonNode> member(std::string_view key) const;
  /// The same, empty where the key is missing or null.
  Result<std::optional<JsonNode>> optional(std::string_view key) const;
  /// All elements of an array.
  Result<std::vector<JsonNode>> elements() const;
  /// Valid UTF-8: lone surrogates are refused.
  Result<std::string_view> string() const;
  Result<bool> boolean() const;
  /// An integer 0..2^32-1.
  Result<std::uint32_t> id() const;
  /// The member `key`, or `otherwise` where it is missing or null.
  Result<bool> flag(std::string_view key, bool otherwise) const;
  /// The member "type".
  Result<std::string_view> type() const;

 private:
  simdjson::dom::element value_;
  std::string_view file_;
  std::string place_;
};

/// What an element is, in a word: "an object", "a string", ...
std::string_view kindOf(simdjson::dom::element value);

class JsonDocument {
 public:
  /// `name` stands for the file in errors. errors  Corrupt: with line, column and byte
  static Result<JsonDocument> parse(std::string_view json, std::string_view name);
  JsonNode root() const { return JsonNode(root_, *name_, ""); }

 private:
  JsonDocument(std::unique_ptr<simdjson::dom::parser> parser, simdjson::dom::element root, std::unique_ptr<std::string> name)
      : parser_(std::move(parser)), root_(root), name_(std::move(name)) {}
  std::unique_ptr<simdjson::dom::parser> parser_;  // on the heap, as elements point into it
  simdjson::dom::element root_;
  std::unique_ptr<std::string> name_;  // nodes hold a view
};

}  // namespace sluice
