#pragma once
// Rows of tests/golden/templates: a template, a request, and the reference's text or error.

#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "core/text/chat_json.h"
#include "core/text/chat_template.h"

namespace sluice {

using Json = nlohmann::ordered_json;

inline std::filesystem::path goldenTemplates() { return std::filesystem::path(SLUICE_TEST_DATA) / "golden" / "templates"; }
inline std::filesystem::path vendorTemplate(const std::string& vendor) {
  return std::filesystem::path(SLUICE_TEST_DATA).parent_path() / "build" / "dev" / "templates" / (vendor + ".jinja");
}

inline std::string fileText(const std::filesystem::path& file) {
  std::ifstream in(file, std::ios::binary);
  std::stringstream text;
  text << in.rdbuf();
  return text.str();
}

inline Json jsonOf(std::string_view text) {
  auto value = parseChatJson(text, "test");
  EXPECT_TRUE(value.ok()) << (value.ok() ? "" : value.error().what);
  return value.ok() ? value.value() : Json();
}

inline std::vector<Json> templateRows(const std::string& name) {
  std::vector<Json> rows;
  std::ifstream in(goldenTemplates() / name);
  for (std::string line; std::getline(in, line);) rows.push_back(jsonOf(line));
  return rows;
}

inline ChatRequest requestOf(const Json& row) {
  ChatRequest request;
  request.messages = row.value("messages", Json::array());
  request.tools = row.value("tools", Json());
  request.arguments = row.value("kwargs", Json::object());
  request.add_generation_prompt = row.value("add_generation_prompt", false);
  request.now_unix = 1773480413;  // 2026-03-14T09:26:53 UTC, the `now` of every row that has one
  return request;
}

/// Templates by file, each parsed once.
class TemplateShelf {
 public:
  const ChatTemplate& at(const std::filesystem::path& file) {
    auto found = templates_.find(file.string());
    if (found == templates_.end()) {
      auto parsed = ChatTemplate::parse(fileText(file), file.filename().string());
      CHECK(parsed.ok());
      found = templates_.emplace(file.string(), std::move(parsed).value()).first;
    }
    return found->second;
  }

 private:
  std::map<std::string, ChatTemplate> templates_;
};

/// The prompt, or "ERROR: " and the sentence.
inline std::string rendered(const ChatTemplate& chat, const ChatRequest& request) {
  auto parts = chat.render(request);
  return parts.ok() ? joined(parts.value()) : "ERROR: " + parts.error().what;
}

/// The same for a template given as text, which may not even parse.
inline std::string rendered(std::string_view source, const Json& arguments = Json::object()) {
  auto chat = ChatTemplate::parse(source, "t");
  if (!chat.ok()) return "ERROR: " + chat.error().what;
  ChatRequest request;
  request.messages = Json::array();
  request.arguments = arguments;
  return rendered(chat.value(), request);
}

inline bool isError(const std::string& text) { return text.rfind("ERROR: ", 0) == 0; }

/// Empty when the text is what the row expects; otherwise what was wrong.
inline std::string faultOf(const Json& row, const std::string& text) {
  if (row.contains("error")) {
    const std::string wanted = row["error"].get<std::string>();
    if (!isError(text)) return "printed instead of failing: " + text;
    return text.find(wanted) == std::string::npos ? "failed with other words: " + text : "";
  }
  return text == row["expected"].get<std::string>() ? "" : "got:  " + text + "\nwant: " + row["expected"].get<std::string>();
}

}  // namespace sluice
