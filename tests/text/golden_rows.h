#pragma once
// Rows of a golden .jsonl file, and the tokenizers that they were made with.

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "core/base/ids.h"
#include "core/text/tokenizer.h"

namespace sluice {

inline std::filesystem::path goldenTokenizers() { return std::filesystem::path(SLUICE_TEST_DATA) / "golden" / "tokenizers"; }

inline std::vector<nlohmann::json> goldenRows(const std::filesystem::path& file) {
  std::vector<nlohmann::json> rows;
  std::ifstream in(file);
  for (std::string line; std::getline(in, line);)
    if (!line.empty()) rows.push_back(nlohmann::json::parse(line));
  return rows;
}

inline std::vector<TokenId> idsOf(const nlohmann::json& list) {
  std::vector<TokenId> ids;
  for (const auto& id : list) ids.emplace_back(id.get<std::uint32_t>());
  return ids;
}

inline std::string shown(std::span<const TokenId> ids) {
  std::string out;
  for (const TokenId id : ids) out += std::to_string(id.value()) + " ";
  return out;
}

/// The tokenizer.json behind a golden: the bundled model's, a small one beside the golden, or a vendor's in build/dev.
inline std::filesystem::path tokenizerFile(const std::string& name) {
  if (name == "nano") return std::filesystem::path(SLUICE_TEST_DATA) / "models" / "nano-gs64" / "tokenizer.json";
  if (name.starts_with("tiny/")) return goldenTokenizers() / (name + ".json");
  return std::filesystem::path(SLUICE_TEST_DATA).parent_path() / "build" / "dev" / "tokenizers" / (name + ".json");
}

inline Result<Tokenizer> goldenTokenizer(const std::string& name) {
  const std::filesystem::path file = tokenizerFile(name);
  if (!std::filesystem::exists(file)) return Error{Errc::NotFound, file.string() + " is missing: run ./setup --dev"};
  return Tokenizer::load(file);
}

}  // namespace sluice
