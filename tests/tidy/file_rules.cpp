#include "tests/tidy/file_rules.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <filesystem>
#include <map>
#include <set>
#include <sstream>
#include <string>

namespace sluice::tidy {

namespace fs = std::filesystem;

namespace {

constexpr std::size_t kLinesMax = 600;

bool isNamedInDecisions(const Tree& tree, std::string_view path) {
  return std::any_of(tree.files.begin(), tree.files.end(),
                     [&](const SourceFile& file) { return file.path.starts_with("docs/decisions/") && file.text.find(path) != std::string::npos; });
}

// Whether `name` stands in a build file as a whole word of a list.
bool isListed(std::string_view cmake, std::string_view name) {
  constexpr std::string_view kBreaks = " \t\n()\"";
  for (std::size_t at = cmake.find(name); at != std::string_view::npos; at = cmake.find(name, at + 1)) {
    const std::size_t end = at + name.size();
    const bool starts = at == 0 || kBreaks.find(cmake[at - 1]) != std::string_view::npos;
    if (starts && (end == cmake.size() || kBreaks.find(cmake[end]) != std::string_view::npos)) return true;
  }
  return false;
}

// Whether some CMakeLists.txt lists `path`, relative to its own folder, with or without the extension.
bool isNamedInCMake(const Tree& tree, const std::string& path) {
  return std::any_of(tree.files.begin(), tree.files.end(), [&](const SourceFile& file) {
    if (!isCMake(file.path)) return false;
    const fs::path folder = fs::path(file.path).parent_path();
    fs::path relative = fs::path(path).lexically_relative(folder.empty() ? fs::path(".") : folder);
    return isListed(file.text, relative.generic_string()) || isListed(file.text, relative.replace_extension().generic_string());
  });
}

// Where one may name a file: code, scripts, build files, documents.
bool namesOthers(std::string_view path) {
  return isCode(path) || isScript(path) || isCMake(path) || extensionOf(path) == ".md" || fileNameOf(path) == "CMakePresets.json";
}

bool isNamedElsewhere(const Tree& tree, std::string_view path, std::string_view name) {
  return std::any_of(tree.files.begin(), tree.files.end(), [&](const SourceFile& file) {
    return file.path != path && namesOthers(file.path) && file.text.find(name) != std::string::npos;
  });
}

std::set<std::string> everyIncludedName(const Tree& tree) {
  std::set<std::string> included;
  for (const SourceFile& file : tree.files) {
    if (!isCode(file.path)) continue;
    for (const std::string_view line : linesOf(file.text)) {
      if (!line.starts_with("#include \"")) continue;
      included.emplace(line.substr(10, line.find('"', 10) - 10));
    }
  }
  return included;
}

// A header that the build puts before every line of a unit (-include) is named by its CMakeLists.txt alone.
bool isForcedIn(const Tree& tree, std::string_view path) {
  const SourceFile* cmake = tree.find(std::string(folderOf(path)) + "/CMakeLists.txt");
  return cmake != nullptr && cmake->text.find("-include ") != std::string::npos && isListed(cmake->text, fileNameOf(path));
}

// A golden file is alive when a test, script or build file names it, or quotes a folder below tests/golden or tests/models that holds it
// ("glm-wide" or /glm-wide/): those that read a folder read all of it.
bool isGoldenAlive(const Tree& tree, std::string_view path) {
  if (isNamedElsewhere(tree, path, fileNameOf(path))) return true;
  for (std::string_view folder = folderOf(path); folder != "tests/golden" && folder != "tests/models" && !folder.empty(); folder = folderOf(folder)) {
    const std::string name(fileNameOf(folder));
    for (const std::string& quoted : {"\"" + name + "\"", "/" + name + "\"", "/" + name + "/", "\"" + name + "/"}) {
      if (isNamedElsewhere(tree, path, quoted)) return true;
    }
  }
  return false;
}

}  // namespace

std::vector<Finding> longFiles(const Tree& tree) {
  std::vector<Finding> findings;
  for (const SourceFile& file : tree.files) {
    if (!isCode(file.path)) continue;
    const std::size_t lines = linesOf(file.text).size();
    if (lines > kLinesMax && !isNamedInDecisions(tree, file.path)) {
      findings.push_back({file.path, 0, std::to_string(lines) + " lines, and no line in docs/decisions/ says why"});
    }
  }
  return findings;
}

std::vector<Finding> filesOutsideOfCMake(const Tree& tree) {
  std::vector<Finding> findings;
  for (const SourceFile& file : tree.files) {
    if (isCMake(file.path) && file.text.find("GLOB") != std::string::npos) findings.push_back({file.path, 0, "sources are listed by name, not globbed"});
    if (isCode(file.path) && extensionOf(file.path) == ".cpp" && !isNamedInCMake(tree, file.path)) {
      findings.push_back({file.path, 0, "no CMakeLists.txt of its folder or above names it"});
    }
  }
  return findings;
}

std::vector<Finding> badFileNames(const Tree& tree) {
  // Names that end in a digit because the thing's own name does.
  constexpr std::array<std::string_view, 7> kNouns = {"avx2", "avx512", "bf16", "f16", "fp8", "f32", "utf8"};
  constexpr std::array<std::string_view, 3> kVague = {"_utils", "_common", "_misc"};
  std::vector<Finding> findings;
  for (const SourceFile& file : tree.files) {
    if (!isCode(file.path) && !isScript(file.path)) continue;
    const std::string_view stem = stemOf(file.path);
    const auto endsStem = [&](std::string_view end) { return stem.ends_with(end); };
    const bool numbered = !stem.empty() && std::isdigit(static_cast<unsigned char>(stem.back())) != 0;
    if (numbered && std::none_of(kNouns.begin(), kNouns.end(), endsStem)) findings.push_back({file.path, 0, "a numbered file: name what it holds"});
    if (std::any_of(kVague.begin(), kVague.end(), endsStem)) findings.push_back({file.path, 0, "a name that says nothing: name what it holds"});
  }
  return findings;
}

std::vector<Finding> deadFiles(const Tree& tree) {
  constexpr std::array<std::string_view, 5> kEntries = {"setup", "sluice", "check", ".ci/run", "README.md"};
  const std::set<std::string> included = everyIncludedName(tree);
  std::vector<Finding> findings;
  for (const SourceFile& file : tree.files) {
    const std::string_view extension = extensionOf(file.path);
    if (std::find(kEntries.begin(), kEntries.end(), file.path) != kEntries.end()) continue;
    if (file.path.starts_with("docs/decisions/")) continue;  // a numbered log, read in order
    if (isCode(file.path)) {
      if (extension != ".cpp" && !included.contains(file.path) && !isForcedIn(tree, file.path)) findings.push_back({file.path, 0, "no file includes it"});
    } else if (isScript(file.path) || extension == ".md") {
      if (!isNamedElsewhere(tree, file.path, fileNameOf(file.path))) findings.push_back({file.path, 0, "no file names it"});
    } else if (file.path.starts_with("tests/golden/") || file.path.starts_with("tests/models/")) {
      if (!isGoldenAlive(tree, file.path)) findings.push_back({file.path, 0, "no test names it or a folder that holds it"});
    }
  }
  return findings;
}

std::vector<Finding> packagesWithoutSetup(const Tree& tree) {
  // What CMake calls a library, and the Debian package that brings it; empty: it comes with the compiler or CMake.
  static const std::map<std::string, std::string> kPackages = {
      {"CLI11", "libcli11-dev"},      {"GTest", "libgtest-dev"},           {"Git", ""},
      {"OpenSSL", "libssl-dev"},
      {"OpenMP", ""},                 {"PkgConfig", "pkg-config"},         {"Threads", ""},
      {"fmt", "libfmt-dev"},          {"libedit", "libedit-dev"},          {"liburing", "liburing-dev"},
      {"libxxhash", "libxxhash-dev"}, {"mimalloc", "libmimalloc-dev"},     {"nlohmann_json", "nlohmann-json3-dev"},
      {"pcre2-8", "libpcre2-dev"},    {"pcre2.h", "libpcre2-dev"},         {"simdjson", "libsimdjson-dev"},
      {"utf8proc", "libutf8proc-dev"}, {"utf8proc.h", "libutf8proc-dev"},  {"xsimd/xsimd.hpp", "libxsimd-dev"},
      {"simde/x86/avx512.h", "libsimde-dev"},
  };
  // Which argument of each command names the library.
  static const std::map<std::string, std::size_t> kCommands = {{"find_package", 0}, {"find_path", 1}, {"find_library", 1}, {"pkg_check_modules", 3}};
  const SourceFile* setup = tree.find("setup");
  std::vector<Finding> findings;
  for (const SourceFile& file : tree.files) {
    if (!isCMake(file.path)) continue;
    int number = 0;
    for (const std::string_view line : linesOf(file.text)) {
      ++number;
      const std::size_t begin = line.find_first_not_of(' '), open = line.find('(');
      if (begin == std::string_view::npos || open == std::string_view::npos || open < begin) continue;
      const auto command = kCommands.find(std::string(line.substr(begin, open - begin)));
      if (command == kCommands.end()) continue;
      std::istringstream words{std::string(line.substr(open + 1, line.find(')') - open - 1))};
      std::string name;
      for (std::size_t i = 0; i <= command->second; ++i) words >> name;
      const auto package = kPackages.find(name);
      if (package == kPackages.end()) {
        findings.push_back({file.path, number, name + ": no Debian package is known for it (tests/tidy/file_rules.cpp)"});
      } else if (!package->second.empty() && (setup == nullptr || !isListed(setup->text, package->second))) {
        findings.push_back({file.path, number, name + ": setup does not install " + package->second});
      }
    }
  }
  return findings;
}

}  // namespace sluice::tidy
