#include "core/format/json_text.h"

#include <algorithm>
#include <unordered_set>

#include <fmt/format.h>

#include "core/base/file.h"

namespace sluice {

Result<JsonText> JsonText::parse(std::string text, int depth_max, std::string what) {
  const std::size_t length = text.size();
  auto parser = std::make_unique<simdjson::dom::parser>();
  // The parser reads whole vectors past the end, so the string is given room instead of being copied.
  text.reserve(length + simdjson::SIMDJSON_PADDING);
  simdjson::error_code code = parser->allocate(std::max<std::size_t>(length, 64), std::size_t(depth_max));
  simdjson::dom::element root;
  if (code == simdjson::SUCCESS) code = parser->parse(text.data(), length, false).get(root);
  if (code != simdjson::SUCCESS)
    return Error{Errc::Corrupt, code == simdjson::DEPTH_ERROR
                                    ? fmt::format("{} nests deeper than the {} levels that are read", what, depth_max)
                                    : fmt::format("{} is not valid JSON ({}); copy the file again", what, simdjson::error_message(code))};
  return JsonText(std::move(parser), root, std::move(what));
}

Result<JsonText> JsonText::readFile(const std::filesystem::path& path, Bytes bytes_max, int depth_max) {
  std::string text = TRY(readWholeFile(path, bytes_max));
  return parse(std::move(text), depth_max, path.string());
}

std::string_view repeatedKey(simdjson::dom::object object) {
  std::unordered_set<std::string_view> seen;
  for (const auto& field : object)
    if (!seen.insert(field.key).second) return field.key;
  return {};
}

}  // namespace sluice
