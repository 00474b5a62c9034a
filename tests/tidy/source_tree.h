#pragma once
// The repository's files as the tidy rules see them. Rules are pure functions of a Tree, so that each can be shown a tree that breaks it.

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::tidy {

struct SourceFile {
  std::string path;  // from the repository's root, with '/'
  std::string text;  // empty for data (see isData)
};

struct Tree {
  std::vector<SourceFile> files;  // by path
  const SourceFile* find(std::string_view path) const;
};

/// A rule broken: printed as "path:line: what".
struct Finding {
  std::string path;
  int line = 0;  // from 1; 0 for a whole file
  std::string what;
};
std::string toString(const std::vector<Finding>& findings);

/// Every file of the work tree but build trees, version control and what package managers fetched.
Tree loadTree(const std::filesystem::path& root);

/// Weights, golden values and fuzz inputs: their bytes are nobody's style.
bool isData(std::string_view path);
/// C++ of ours: .cpp, .h, .inl.
bool isCode(std::string_view path);
/// Files that run by themselves: .sh, .py, .mjs and the extensionless entry points.
bool isScript(std::string_view path);
bool isCMake(std::string_view path);

std::vector<std::string_view> linesOf(std::string_view text);
/// `text` with comments and the insides of string and character literals blanked out; lines stay where they are.
std::string codeOnly(std::string_view text);
/// Whether `word` stands in `text` with no letter, digit or underscore on either side.
bool hasWord(std::string_view text, std::string_view word);
bool hasCallOf(std::string_view text, std::string_view name);  // the word, then '(' after spaces

std::string_view extensionOf(std::string_view path);
std::string_view fileNameOf(std::string_view path);
std::string_view folderOf(std::string_view path);
std::string_view stemOf(std::string_view path);  // the file's name without its extension

}  // namespace sluice::tidy
