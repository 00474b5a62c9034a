#include "tests/tidy/source_tree.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <fstream>
#include <iterator>
#include <system_error>

namespace sluice::tidy {

namespace fs = std::filesystem;

namespace {

bool isNameCharacter(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

bool isSkippedFolder(const std::string& name) {
  return name == ".git" || name == "build" || name == "node_modules" || name == "__pycache__";
}

std::string readWhole(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

template <std::size_t N>
bool oneOf(std::string_view value, const std::array<std::string_view, N>& values) {
  return std::find(values.begin(), values.end(), value) != values.end();
}

// Walks C++ text and tells what each character belongs to.
class Lexer {
 public:
  explicit Lexer(std::string_view text) : text_(text) {}

  std::string blanked() {
    std::string out(text_);
    std::size_t i = 0;
    while (i < text_.size()) {
      const std::size_t end = endOfNonCode(i);
      for (std::size_t k = i; k < end; ++k) {
        if (out[k] != '\n') out[k] = ' ';
      }
      i = end > i ? end : i + 1;
    }
    return out;
  }

 private:
  // Where the comment or literal that starts at `at` ends; `at` itself where none starts.
  std::size_t endOfNonCode(std::size_t at) const {
    if (text_.substr(at, 2) == "//") return std::min(text_.find('\n', at), text_.size());
    if (text_.substr(at, 2) == "/*") return endAfter("*/", at + 2);
    if (text_.substr(at, 2) == "R\"" && (at == 0 || !isNameCharacter(text_[at - 1]))) return endOfRawString(at);
    if (text_[at] == '"') return isIncludeName(at) ? at : endOfQuoted(at, '"');
    if (text_[at] == '\'' && (at == 0 || !isNameCharacter(text_[at - 1]))) return endOfQuoted(at, '\'');
    return at;
  }

  // The name in #include "..." is code: rules read it.
  bool isIncludeName(std::size_t at) const {
    const std::size_t begin = text_.rfind('\n', at) == std::string_view::npos ? 0 : text_.rfind('\n', at) + 1;
    return text_.substr(begin, 8) == "#include";
  }

  std::size_t endAfter(std::string_view mark, std::size_t from) const {
    const std::size_t found = text_.find(mark, from);
    return found == std::string_view::npos ? text_.size() : found + mark.size();
  }

  std::size_t endOfRawString(std::size_t at) const {
    const std::size_t open = text_.find('(', at);
    if (open == std::string_view::npos) return text_.size();
    const std::string close = ")" + std::string(text_.substr(at + 2, open - at - 2)) + "\"";
    return endAfter(close, open);
  }

  std::size_t endOfQuoted(std::size_t at, char quote) const {
    std::size_t i = at + 1;
    while (i < text_.size() && text_[i] != quote && text_[i] != '\n') i += text_[i] == '\\' ? 2 : 1;
    return std::min(i + 1, text_.size());
  }

  std::string_view text_;
};

}  // namespace

const SourceFile* Tree::find(std::string_view path) const {
  const auto it = std::find_if(files.begin(), files.end(), [&](const SourceFile& file) { return file.path == path; });
  return it == files.end() ? nullptr : &*it;
}

std::string toString(const std::vector<Finding>& findings) {
  std::string out;
  for (const Finding& finding : findings) out += finding.path + ":" + std::to_string(finding.line) + ": " + finding.what + "\n";
  return out;
}

Tree loadTree(const fs::path& root) {
  Tree tree;
  std::error_code gone;  // a file may vanish while we look: what is not there needs no tidying
  for (fs::recursive_directory_iterator it(root, gone), end; it != end; it.increment(gone)) {
    const std::string name = it->path().filename().string();
    if (it->is_directory(gone)) {
      if (isSkippedFolder(name)) it.disable_recursion_pending();
      continue;
    }
    if (!it->is_regular_file(gone)) continue;
    SourceFile file{it->path().lexically_relative(root).generic_string(), {}};
    if (!isData(file.path)) file.text = readWhole(it->path());
    tree.files.push_back(std::move(file));
  }
  std::sort(tree.files.begin(), tree.files.end(), [](const SourceFile& a, const SourceFile& b) { return a.path < b.path; });
  return tree;
}

bool isData(std::string_view path) {
  return path.starts_with("tests/golden/") || path.starts_with("tests/models/") || path.find("/corpus/") != std::string_view::npos;
}

bool isCode(std::string_view path) {
  constexpr std::array<std::string_view, 3> kExtensions = {".cpp", ".h", ".inl"};
  return !isData(path) && oneOf(extensionOf(path), kExtensions);
}

bool isScript(std::string_view path) {
  constexpr std::array<std::string_view, 3> kExtensions = {".sh", ".py", ".mjs"};
  constexpr std::array<std::string_view, 4> kEntries = {"setup", "sluice", "check", ".ci/run"};
  return !isData(path) && (oneOf(extensionOf(path), kExtensions) || oneOf(path, kEntries));
}

bool isCMake(std::string_view path) { return fileNameOf(path) == "CMakeLists.txt" || extensionOf(path) == ".cmake"; }

std::vector<std::string_view> linesOf(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    lines.push_back(text.substr(0, end));
    text = end == std::string_view::npos ? std::string_view() : text.substr(end + 1);
  }
  return lines;
}

std::string codeOnly(std::string_view text) { return Lexer(text).blanked(); }

bool hasWord(std::string_view text, std::string_view word) {
  for (std::size_t at = text.find(word); at != std::string_view::npos; at = text.find(word, at + 1)) {
    const bool starts = at == 0 || !isNameCharacter(text[at - 1]);
    const std::size_t end = at + word.size();
    if (starts && (end == text.size() || !isNameCharacter(text[end]))) return true;
  }
  return false;
}

bool hasCallOf(std::string_view text, std::string_view name) {
  for (std::size_t at = text.find(name); at != std::string_view::npos; at = text.find(name, at + 1)) {
    const bool starts = at == 0 || !isNameCharacter(text[at - 1]);
    const bool is_member = at > 0 && (text[at - 1] == '.' || text.substr(0, at).ends_with("->"));
    const std::size_t next = text.find_first_not_of(' ', at + name.size());
    if (starts && !is_member && next != std::string_view::npos && text[next] == '(') return true;
  }
  return false;
}

std::string_view extensionOf(std::string_view path) {
  const std::string_view name = fileNameOf(path);
  const std::size_t dot = name.rfind('.');
  return dot == std::string_view::npos || dot == 0 ? std::string_view() : name.substr(dot);
}

std::string_view fileNameOf(std::string_view path) {
  const std::size_t slash = path.rfind('/');
  return slash == std::string_view::npos ? path : path.substr(slash + 1);
}

std::string_view folderOf(std::string_view path) {
  const std::size_t slash = path.rfind('/');
  return slash == std::string_view::npos ? std::string_view() : path.substr(0, slash);
}

std::string_view stemOf(std::string_view path) {
  const std::string_view name = fileNameOf(path);
  return name.substr(0, name.size() - extensionOf(path).size());
}

}  // namespace sluice::tidy
