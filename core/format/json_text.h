#pragma once
// JSON that came from outside, parsed whole and with a bound on its nesting. simdjson's elements are read through the error codes, never
// through its exceptions.

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>

#include <simdjson.h>

#include "core/base/bytes.h"
#include "core/base/result.h"

namespace sluice {

/// A parsed document; its elements live as long as it does. Move-only.
class JsonText {
 public:
  /// `what` names the text in errors, e.g. "config.json". Nesting deeper than `depth_max` is refused.
  /// errors  Corrupt
  static Result<JsonText> parse(std::string text, int depth_max, std::string what);
  /// errors  NotFound, Io (not a regular file, too), Corrupt (longer than bytes_max, not JSON, nested too deep)
  static Result<JsonText> readFile(const std::filesystem::path& path, Bytes bytes_max, int depth_max);

  simdjson::dom::element root() const { return root_; }
  const std::string& what() const { return what_; }

 private:
  JsonText(std::unique_ptr<simdjson::dom::parser> parser, simdjson::dom::element root, std::string what)
      : parser_(std::move(parser)), root_(root), what_(std::move(what)) {}
  std::unique_ptr<simdjson::dom::parser> parser_;  // on the heap: elements point into it
  simdjson::dom::element root_;
  std::string what_;
};

/// Text of a file as messages may show it: no control characters, and cut (between characters) at `bytes_max`.
std::string printable(std::string_view text, std::size_t bytes_max = 120);

/// The first key that an object holds twice, or an empty view: JSON readers disagree on which of the two counts.
std::string_view repeatedKey(simdjson::dom::object object);

}  // namespace sluice
