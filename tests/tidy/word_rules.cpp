#include "tests/tidy/word_rules.h"

#include <algorithm>
#include <array>
#include <string>

#include "tests/tidy/layer_rules.h"

namespace sluice::tidy {

namespace {

// CHECK's last words go to stderr before it aborts: the one place below cli that prints.
constexpr std::string_view kCheckPrints = "core/base/check.cpp";

bool isBelowCli(std::string_view path) {
  const std::string_view room = roomOf(path);
  return !room.empty() && room != "cli" && room != "cli/serve" && room != "tests";
}

std::string_view trimmed(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(" \t");
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(" \t") - begin + 1);
}

// A line that is nothing but a comment, and whose text is a statement.
bool isCommentedOutCode(std::string_view line) {
  constexpr std::array<std::string_view, 14> kStarts = {"if (",   "for (",  "while (",  "return ", "const ",  "auto ",   "std::",
                                                        "#include", "TEST(", "TEST_F(", "TEST_P(", "EXPECT_", "ASSERT_", "static "};
  line = trimmed(line);
  if (!line.starts_with("//")) return false;
  const std::string_view comment = trimmed(line.substr(2));
  const bool starts = std::any_of(kStarts.begin(), kStarts.end(), [&](std::string_view start) { return comment.starts_with(start); });
  return starts && (comment.starts_with("#include") || comment.ends_with(";") || comment.ends_with("{"));
}

void findInLines(const SourceFile& file, std::string_view text, const std::vector<std::string_view>& words, std::string_view why, bool calls,
                 std::vector<Finding>& findings) {
  int number = 0;
  for (const std::string_view line : linesOf(text)) {
    ++number;
    for (const std::string_view word : words) {
      if (calls ? hasCallOf(line, word) : hasWord(line, word)) findings.push_back({file.path, number, std::string(word) + ": " + std::string(why)});
    }
  }
}

// A skip stands under a condition: on its line or on one of the two above.
bool isSkippedForever(const std::vector<std::string_view>& lines, std::size_t at) {
  if (!hasWord(lines[at], "GTEST_SKIP")) return false;
  for (std::size_t k = at >= 2 ? at - 2 : 0; k <= at; ++k) {
    if (hasWord(lines[k], "if")) return false;
  }
  return true;
}

}  // namespace

std::vector<Finding> callsThatBelongToCli(const Tree& tree) {
  static const std::vector<std::string_view> kPrints = {"printf", "fprintf", "vprintf", "vfprintf", "puts", "fputs", "putchar", "perror", "print"};
  static const std::vector<std::string_view> kStreams = {"std::cout", "std::cerr", "std::clog", "iostream"};
  static const std::vector<std::string_view> kOthers = {"getenv", "secure_getenv", "setenv",      "exit",      "_exit",     "quick_exit",
                                                        "sleep",  "usleep",        "nanosleep",   "sleep_for", "sleep_until"};
  std::vector<Finding> findings;
  for (const SourceFile& file : tree.files) {
    if (!isCode(file.path) || !isBelowCli(file.path)) continue;
    const std::string code = codeOnly(file.text);
    if (file.path != kCheckPrints) findInLines(file, code, kPrints, "nothing below cli prints (fill a report)", true, findings);
    findInLines(file, code, kStreams, "nothing below cli prints (fill a report)", false, findings);
    findInLines(file, code, kOthers, "nothing below cli reads the environment, sleeps or exits", true, findings);
  }
  return findings;
}

std::vector<Finding> unfinishedWork(const Tree& tree) {
  // Spelled in halves, so that this file passes its own rule.
  static const std::array<std::string, 4> kMarks = {std::string("TO") + "DO", std::string("FIX") + "ME", std::string("XX") + "X", std::string("HA") + "CK"};
  static const std::string kDisabled = std::string("DISAB") + "LED_";
  std::vector<Finding> findings;
  for (const SourceFile& file : tree.files) {
    const bool is_document = extensionOf(file.path) == ".md" && file.path != "docs/STYLE.md";  // which names the marks to ban them
    if (!isCode(file.path) && !isScript(file.path) && !isCMake(file.path) && !is_document) continue;
    const std::vector<std::string_view> lines = linesOf(file.text);
    const std::string code = isCode(file.path) ? codeOnly(file.text) : std::string();
    const std::vector<std::string_view> code_lines = linesOf(code);
    for (std::size_t i = 0; i < lines.size(); ++i) {
      const int number = int(i) + 1;
      for (const std::string& mark : kMarks) {
        if (hasWord(lines[i], mark)) findings.push_back({file.path, number, mark + ": finish it, or file it as an issue"});
      }
      if (lines[i].find(kDisabled) != std::string_view::npos) findings.push_back({file.path, number, "a disabled test"});
      if (!isCode(file.path)) continue;
      if (isSkippedForever(code_lines, i)) findings.push_back({file.path, number, "a test that is always skipped"});
      if (isCommentedOutCode(lines[i])) findings.push_back({file.path, number, "commented-out code"});
    }
  }
  return findings;
}

std::vector<Finding> wordsOfOneMachine(const Tree& tree) {
  // Spelled in halves, so that this file passes its own rule.
  static const std::vector<std::string> kWords = {
      std::string("/wo") + "rk/",       std::string("/ro") + "ot/",        std::string("/ho") + "me/",          std::string("../sha") + "red",
      std::string("npm") + "js.org",    std::string("npm") + "js.com",     std::string("py") + "pi.org",        std::string("python") + "hosted",
      std::string("deb.deb") + "ian",   std::string("crates") + ".io",     std::string("proxy.go") + "lang",    std::string("repo.mav") + "en",
      std::string("archive.ubu") + "ntu"};
  std::vector<Finding> findings;
  for (const SourceFile& file : tree.files) {
    int number = 0;
    for (const std::string_view line : linesOf(file.text)) {
      ++number;
      for (const std::string& word : kWords) {
        if (line.find(word) != std::string_view::npos) findings.push_back({file.path, number, word + ": the repository stands alone, on any machine"});
      }
    }
  }
  return findings;
}

}  // namespace sluice::tidy
