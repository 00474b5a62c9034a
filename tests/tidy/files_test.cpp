// Goal:   every file is small, well named, built and used.
// Method: each rule is run over this repository, where it finds nothing, and over a made-up tree that breaks it, where it must.

#include "tests/tidy/file_rules.h"

#include <string>

#include <gtest/gtest.h>

#include "tests/tidy/work_tree.h"

namespace sluice::tidy {
namespace {

TEST(Tidy, LongFilesHaveAReason) { expectNone(longFiles(workTree())); }
TEST(Tidy, EverySourceIsBuilt) { expectNone(filesOutsideOfCMake(workTree())); }
TEST(Tidy, FileNamesSayWhatTheyHold) { expectNone(badFileNames(workTree())); }
TEST(Tidy, SetupInstallsWhatTheBuildLooksFor) { expectNone(packagesWithoutSetup(workTree())); }
TEST(Tidy, EveryFileIsUsed) { expectNone(deadFiles(workTree())); }

TEST(TidyControl, TheWorkTreeIsRead) {
  EXPECT_NE(workTree().find("core/base/result.h"), nullptr);
  EXPECT_NE(workTree().find(".ci/run"), nullptr);
  EXPECT_EQ(workTree().find(".git/HEAD"), nullptr);
  EXPECT_GT(workTree().files.size(), 100u);
}

TEST(TidyControl, LongFiles_AreFound_UnlessADecisionNamesThem) {
  std::string text;
  for (int i = 0; i < 601; ++i) text += "int x;\n";
  const Tree bare{{{"core/base/a.cpp", text}, {"core/base/b.cpp", text.substr(7)}}};
  ASSERT_EQ(longFiles(bare).size(), 1u);
  EXPECT_EQ(longFiles(bare)[0].path, "core/base/a.cpp");
  const Tree explained{{{"core/base/a.cpp", text}, {"docs/decisions/0009-tables.md", "`core/base/a.cpp` is one table.\n"}}};
  EXPECT_TRUE(longFiles(explained).empty());
}

TEST(TidyControl, UnbuiltSourcesAndGlobs_AreFound) {
  const Tree tree{{
      {"simd/CMakeLists.txt", "add_library(simd a.cpp isa/b.cpp)\nfile(GLOB more *.cpp)\n"},
      {"simd/a.cpp", ""},
      {"simd/isa/b.cpp", ""},
      {"simd/extra_a.cpp", ""},
      {"simd/fake.cpp", ""},
      {"tests/kv/CMakeLists.txt", "sluice_test(kv_test SOURCES cache_test.cpp)\n"},
      {"tests/kv/cache_test.cpp", ""},
      {"tests/kv/forgotten_test.cpp", ""},
      {"tests/support/fake.cpp", ""},
      {"tests/text/CMakeLists.txt", "sluice_test(text_test SOURCES\n  ../support/fake.cpp)\n"},
  }};
  const std::vector<Finding> found = filesOutsideOfCMake(tree);
  ASSERT_EQ(found.size(), 4u) << toString(found);
  EXPECT_EQ(found[0].path, "simd/CMakeLists.txt");
  EXPECT_EQ(found[1].path, "simd/extra_a.cpp");
  EXPECT_EQ(found[2].path, "simd/fake.cpp");
  EXPECT_EQ(found[3].path, "tests/kv/forgotten_test.cpp");
}

TEST(TidyControl, PackagesThatSetupForgets_AreFound) {
  const Tree tree{{
      {"CMakeLists.txt", "find_package(fmt REQUIRED)\nfind_package(Threads REQUIRED)\n  find_path(X_DIR xsimd/xsimd.hpp REQUIRED)\n"},
      {"setup", "packages=(\n  libfmt-dev  # text\n)\n"},
      {"stream/CMakeLists.txt", "pkg_check_modules(URING REQUIRED IMPORTED_TARGET liburing)\nfind_package(Unheard REQUIRED)\n"},
  }};
  const std::vector<Finding> found = packagesWithoutSetup(tree);
  ASSERT_EQ(found.size(), 3u) << toString(found);
  EXPECT_EQ(found[0].line, 3);
  EXPECT_EQ(found[1].what, "liburing: setup does not install liburing-dev");
  EXPECT_EQ(found[2].line, 2);
}

TEST(TidyControl, NamesThatSayNothing_AreFound) {
  const Tree tree{{{"core/base/file2.cpp", ""}, {"core/base/string_utils.h", ""}, {"simd/kernels_avx2.cpp", ""}, {"docs/decisions/0001-house.md", ""}}};
  const std::vector<Finding> found = badFileNames(tree);
  ASSERT_EQ(found.size(), 2u) << toString(found);
  EXPECT_EQ(found[0].path, "core/base/file2.cpp");
  EXPECT_EQ(found[1].path, "core/base/string_utils.h");
}

TEST(TidyControl, DeadFiles_AreFound) {
  const Tree tree{{
      {"README.md", "See docs/TESTING.md.\n"},
      {"core/base/dead.h", "#pragma once\n"},
      {"core/base/used.cpp", "#include \"core/base/used.h\"\n"},
      {"core/base/used.h", "#pragma once\n"},
      {"docs/ORPHAN.md", "ORPHAN.md names itself, which does not count.\n"},
      {"docs/TESTING.md", "\n"},
      {"tests/golden/lost/a.json", ""},
      {"tests/golden/renders/b.json", ""},
      {"tests/models/glm/model.safetensors", ""},
      {"tests/text/render_test.cpp", "auto dir = root / \"golden\" / \"renders\"; auto m = \"/models/glm/\";\n"},
      {"tests/dev/lonely.sh", "\n"},
  }};
  const std::vector<Finding> found = deadFiles(tree);
  ASSERT_EQ(found.size(), 4u) << toString(found);
  EXPECT_EQ(found[0].path, "core/base/dead.h");
  EXPECT_EQ(found[1].path, "docs/ORPHAN.md");
  EXPECT_EQ(found[2].path, "tests/golden/lost/a.json");
  EXPECT_EQ(found[3].path, "tests/dev/lonely.sh");
}

}  // namespace
}  // namespace sluice::tidy
