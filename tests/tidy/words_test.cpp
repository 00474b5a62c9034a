// Goal:   no call below cli that belongs to it, no unfinished work, nothing that ties the repository to one machine.
// Method: each rule is run over this repository, where it finds nothing, and over a made-up tree that breaks it, where it must. Words that
//         a rule looks for are spelled in halves here, so that this file passes.

#include "tests/tidy/word_rules.h"

#include <string>

#include <gtest/gtest.h>

#include "tests/tidy/work_tree.h"

namespace sluice::tidy {
namespace {

TEST(Tidy, OnlyCliTalksToTheWorld) { expectNone(callsThatBelongToCli(workTree())); }
TEST(Tidy, NothingIsUnfinished) { expectNone(unfinishedWork(workTree())); }
TEST(Tidy, NothingNamesOneMachine) { expectNone(wordsOfOneMachine(workTree())); }

TEST(TidyControl, CallsThatBelongToCli_AreFound) {
  const Tree tree{{
      {"cli/main.cpp", "int main() { std::cout << getenv(\"HOME\"); exit(0); }\n"},
      {"core/model/a.cpp", "void f() {\n  if (getenv(\"X\") != nullptr) return;\n  std::printf(\"x\");\n}\n"},
      {"core/model/b.cpp", "// getenv() is banned here\nconst char* why = \"printf(x)\";\nvoid g() { snprintf(b, 1, \"x\"); queue.exit(1); }\n"},
      {"stream/c.cpp", "void f() { std::this_thread::sleep_for(x); std::cerr << 1; _exit (1); }\n"},
  }};
  const std::vector<Finding> found = callsThatBelongToCli(tree);
  ASSERT_EQ(found.size(), 5u) << toString(found);
  EXPECT_EQ(found[0].path, "core/model/a.cpp");
  EXPECT_EQ(found[0].line, 3);
  EXPECT_EQ(found[1].line, 2);
  for (std::size_t i = 2; i < 5; ++i) EXPECT_EQ(found[i].path, "stream/c.cpp");
}

TEST(TidyControl, UnfinishedWork_IsFound) {
  const std::string todo = std::string("TO") + "DO", disabled = std::string("DISAB") + "LED_";
  const Tree tree{{
      {"core/base/a.cpp", "// " + todo + ": later\nchar name[] = \"/tmp/x-XXXXXX\";\n"},
      {"docs/STYLE.md", todo + " is banned.\n"},
      {"setup", "# " + todo + "\n"},
      {"tests/a_test.cpp", "TEST(A, " + disabled + "Works) {}\nTEST(A, Skips) {\n\n  GTEST_SKIP();\n}\n  // EXPECT_EQ(1, 2);\n// return to the caller.\n"},
      {"tests/b_test.cpp", "TEST(A, Skips) {\n  if (!has) GTEST_SKIP() << \"no AVX2\";\n}\n"},
  }};
  const std::vector<Finding> found = unfinishedWork(tree);
  ASSERT_EQ(found.size(), 5u) << toString(found);
  EXPECT_EQ(found[0].path, "core/base/a.cpp");
  EXPECT_EQ(found[1].path, "setup");
  EXPECT_EQ(found[2].line, 1);
  EXPECT_EQ(found[3].line, 4);
  EXPECT_EQ(found[4].line, 6);
}

TEST(TidyControl, WordsOfOneMachine_AreFound) {
  const Tree tree{{
      {"README.md", std::string("cd /ho") + "me/me\n"},
      {"setup", std::string("curl https://registry.npm") + "js.org/x\n"},
      {"tests/a_test.cpp", "open(root / \"models\");\n\nopen(\"../sha" "red/oracle\");\n"},
  }};
  const std::vector<Finding> found = wordsOfOneMachine(tree);
  ASSERT_EQ(found.size(), 3u) << toString(found);
  EXPECT_EQ(found[2].line, 3);
}

TEST(TidyControl, TheLexerBlanksCommentsAndLiterals_AndKeepsLines) {
  EXPECT_EQ(codeOnly("a(\"b\\\"c\") // d\ne"), "a(      )     \ne");
  EXPECT_EQ(codeOnly("x /* y\n z */ w"), "x     \n      w");
  EXPECT_EQ(codeOnly("f(R\"x(a\"b)x\", 'c', 1'000)"), "f(          ,    , 1'000)");
  EXPECT_EQ(codeOnly("#include \"a.h\"\n"), "#include \"a.h\"\n");
  EXPECT_TRUE(hasWord("a = exit;", "exit"));
  EXPECT_FALSE(hasWord("queue_exit", "exit"));
  EXPECT_TRUE(hasCallOf("  exit (1)", "exit"));
  EXPECT_FALSE(hasCallOf("queue.exit(1)", "exit"));
}

}  // namespace
}  // namespace sluice::tidy
