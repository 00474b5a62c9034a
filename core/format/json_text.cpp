#include "core/format/json_text.h"

#include <algorithm>
#include <span>
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
  const OwnedFd fd = TRY(openRead(path));
  const FileIdentity identity = TRY(identityOf(fd, path));
  if (identity.size > bytes_max.count())
    return Error{Errc::Corrupt, fmt::format("{} is {} bytes long, at most {} are read of such a file", path.string(), identity.size, bytes_max.count())};
  std::string text;
  text.reserve(std::size_t(identity.size) + simdjson::SIMDJSON_PADDING);
  text.resize(std::size_t(identity.size));
  TRY(readExactly(fd, path, 0, std::as_writable_bytes(std::span(text))));
  return parse(std::move(text), depth_max, path.string());
}

std::string printable(std::string_view text, std::size_t bytes_max) {
  std::size_t end = std::min(text.size(), bytes_max);
  while (end < text.size() && end > 0 && (static_cast<unsigned char>(text[end]) & 0xc0u) == 0x80u) --end;
  std::string out(text.substr(0, end));
  for (char& c : out)
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = '?';
  return end < text.size() ? out + "..." : out;
}

std::string_view repeatedKey(simdjson::dom::object object) {
  std::unordered_set<std::string_view> seen;
  for (const auto& field : object)
    if (!seen.insert(field.key).second) return field.key;
  return {};
}

}  // namespace sluice
