// Goal:   what the README tells a stranger to type works as printed, and no flag that README and user guide name is invented.
// Method: every fenced block marked bash is run from the repository's root, as one script that stops at its first failure. ./check is left
//         out: this test runs inside of it.

#include <filesystem>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "tests/support/command.h"
#include "tests/support/temp_dir.h"
#include "tests/tidy/work_tree.h"

namespace sluice::tidy {
namespace {

namespace fs = std::filesystem;

struct Block {
  int line;
  std::string script;
};

std::vector<Block> bashBlocksOf(std::string_view markdown) {
  std::vector<Block> blocks;
  bool inside = false;
  int number = 0;
  for (const std::string_view line : linesOf(markdown)) {
    ++number;
    if (line.starts_with("```")) {
      inside = !inside && line == "```bash";
      if (inside) blocks.push_back({number, {}});
    } else if (inside && !line.starts_with("./check")) {
      blocks.back().script += std::string(line) + "\n";
    }
  }
  return blocks;
}

// Runs `script` as a stranger would, with a state directory of its own.
Result<CommandOutput> runFromTheRoot(const std::string& script) {
  const TempDir dir;
  const CommandSetting setting{fs::path(SLUICE_TEST_DATA).parent_path().string(), "", {{"XDG_STATE_HOME", dir.path().string()}}};
  return runCommand({"bash", "-euo", "pipefail", "-c", script}, setting);
}

TEST(Readme, CommandsRunAsPrinted) {
  const SourceFile* readme = workTree().find("README.md");
  ASSERT_NE(readme, nullptr);
  EXPECT_NE(readme->text.find("\n./sluice demo"), std::string::npos);
  EXPECT_NE(readme->text.find("\n./check"), std::string::npos);
  const std::vector<Block> blocks = bashBlocksOf(readme->text);
  EXPECT_GE(blocks.size(), 2u);
  for (const Block& block : blocks) {
    const Result<CommandOutput> ran = runFromTheRoot(block.script);
    ASSERT_TRUE(ran.ok()) << ran.error().what;
    EXPECT_EQ(ran.value().exit_code, 0) << "README.md:" << block.line << ":\n" << ran.value().out << ran.value().err;
  }
}

// Every "--word" of the text.
std::set<std::string> flagsIn(std::string_view text) {
  std::set<std::string> flags;
  const auto isFlagCharacter = [](char c) { return (c >= 'a' && c <= 'z') || c == '-'; };
  for (std::size_t at = text.find("--"); at != std::string_view::npos; at = text.find("--", at + 1)) {
    std::size_t end = at;
    while (end < text.size() && isFlagCharacter(text[end])) ++end;
    if (end > at + 2 && text[at + 2] != '-') flags.emplace(text.substr(at, end - at));
    at = end - 1;
  }
  return flags;
}

std::string helpOf(const std::vector<std::string>& argv) {
  const Result<CommandOutput> ran = runCommand(argv);
  return ran.ok() && ran.value().exit_code == 0 ? ran.value().out : std::string();
}

TEST(Documents, NameOnlyFlagsThatExist) {
  const std::string root = fs::path(SLUICE_TEST_DATA).parent_path().string();
  std::string help = helpOf({root + "/setup", "--help"}) + helpOf({root + "/check", "--help"});
  for (const char* command : {"demo", "run", "chat", "inspect", "verify", "trace", "score", "version"}) {
    const std::string text = helpOf({SLUICE_PROGRAM, command, "--help"});
    EXPECT_NE(text, "") << command;
    help += text;
  }
  const std::set<std::string> known = flagsIn(help);
  for (const char* document : {"README.md", "docs/USER_GUIDE.md"}) {
    ASSERT_NE(workTree().find(document), nullptr);
    for (const std::string& flag : flagsIn(workTree().find(document)->text)) {
      EXPECT_TRUE(flag == "--help" || known.contains(flag)) << document << " names " << flag << ", which no --help does";
    }
  }
}

TEST(DocumentsControl, FlagsAreExtracted) {
  EXPECT_EQ(flagsIn("run --ram 96GiB, `--no-think`; a--b --- |---|"), (std::set<std::string>{"--ram", "--no-think", "--b"}));
}

TEST(ReadmeControl, BlocksAreExtracted_WithoutCheck) {
  const std::vector<Block> blocks = bashBlocksOf("# x\n```bash\n./sluice demo\n./check --slow\n```\ntext\n```text\nnot this\n```\n```bash\nls\n```\n");
  ASSERT_EQ(blocks.size(), 2u);
  EXPECT_EQ(blocks[0].line, 2);
  EXPECT_EQ(blocks[0].script, "./sluice demo\n");
  EXPECT_EQ(blocks[1].script, "ls\n");
}

TEST(ReadmeControl, AFailingCommand_IsSeen) {
  EXPECT_EQ(runFromTheRoot("test -f README.md\n").value().exit_code, 0);
  EXPECT_NE(runFromTheRoot("false\ntrue\n").value().exit_code, 0);
  EXPECT_NE(runFromTheRoot("echo \"$NO_SUCH_VARIABLE\"\n").value().exit_code, 0);
}

}  // namespace
}  // namespace sluice::tidy
