// Goal:   what the README tells a stranger to type works as printed.
// Method: every fenced block marked bash is run from the repository's root, as one script that stops at its first failure. ./check is left
//         out: this test runs inside of it.

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "tests/tidy/weak_symbols.h"
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

// Runs `script` as a stranger would, with a state directory and a home of its own.
Result<std::string> runFromTheRoot(const std::string& script) {
  char folder[] = "/tmp/sluice-readme-XXXXXX";
  if (::mkdtemp(folder) == nullptr) return Error{Errc::Io, "no temporary directory"};
  std::ofstream(fs::path(folder) / "script.sh") << script;
  const std::string root = fs::path(SLUICE_TEST_DATA).parent_path().string();
  Result<std::string> out = outputOf("cd '" + root + "' && XDG_STATE_HOME='" + folder + "/state' bash -euo pipefail '" + folder + "/script.sh' 2>&1 </dev/null");
  fs::remove_all(folder);
  return out;
}

TEST(Readme, CommandsRunAsPrinted) {
  const SourceFile* readme = workTree().find("README.md");
  ASSERT_NE(readme, nullptr);
  EXPECT_NE(readme->text.find("\n./sluice demo"), std::string::npos);
  EXPECT_NE(readme->text.find("\n./check"), std::string::npos);
  const std::vector<Block> blocks = bashBlocksOf(readme->text);
  EXPECT_GE(blocks.size(), 2u);
  for (const Block& block : blocks) {
    const Result<std::string> out = runFromTheRoot(block.script);
    EXPECT_TRUE(out.ok()) << "README.md:" << block.line << ": " << out.error().what;
  }
}

TEST(ReadmeControl, BlocksAreExtracted_WithoutCheck) {
  const std::vector<Block> blocks = bashBlocksOf("# x\n```bash\n./sluice demo\n./check --slow\n```\ntext\n```text\nnot this\n```\n```bash\nls\n```\n");
  ASSERT_EQ(blocks.size(), 2u);
  EXPECT_EQ(blocks[0].line, 2);
  EXPECT_EQ(blocks[0].script, "./sluice demo\n");
  EXPECT_EQ(blocks[1].script, "ls\n");
}

TEST(ReadmeControl, AFailingCommand_IsSeen) {
  EXPECT_TRUE(runFromTheRoot("test -f README.md\n").ok());
  EXPECT_FALSE(runFromTheRoot("false\ntrue\n").ok());
  EXPECT_FALSE(runFromTheRoot("echo \"$NO_SUCH_VARIABLE\"\n").ok());
}

}  // namespace
}  // namespace sluice::tidy
