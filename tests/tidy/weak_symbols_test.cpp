// Goal:   a program built with units for AVX2 and newer still starts on a plain x86-64-v2 machine.
// Method: nm over every object that was compiled with -mavx or more: it may define no weak function. Controls: a unit that uses a standard
//         container is compiled here, and its weak functions are seen.

#include "tests/tidy/weak_symbols.h"

#include <fstream>

#include <gtest/gtest.h>

#include "tests/support/command.h"
#include "tests/support/temp_dir.h"

namespace sluice::tidy {
namespace {

namespace fs = std::filesystem;

TEST(Tidy, UnitsForNewerProcessorsDefineNoWeakFunction) {
  const Result<std::vector<fs::path>> objects = objectsBeyondTheBaseline(SLUICE_BINARY_DIR);
  ASSERT_TRUE(objects.ok()) << objects.error().what;
  EXPECT_FALSE(objects.value().empty());
  for (const fs::path& object : objects.value()) {
    const Result<std::vector<std::string>> weak = weakDefinitionsOf(object);
    ASSERT_TRUE(weak.ok()) << weak.error().what;
    for (const std::string& name : weak.value()) ADD_FAILURE() << object << " defines the weak function " << name;
  }
}

TEST(TidyControl, AWeakFunction_IsFound) {
  const TempDir dir;
  const fs::path source = dir.path() / "weak.cpp", object = dir.path() / "weak.o";
  std::ofstream(source) << "struct Pair { int a, b; int sum() const { return a + b; } };\n"
                           "int (Pair::*chosen())() const { return &Pair::sum; }\n";
  const Result<CommandOutput> compiled = runCommand({SLUICE_CXX_COMPILER, "-O2", "-mavx2", "-c", source.string(), "-o", object.string()});
  ASSERT_TRUE(compiled.ok()) << compiled.error().what;
  ASSERT_EQ(compiled.value().exit_code, 0) << compiled.value().err;
  const Result<std::vector<std::string>> weak = weakDefinitionsOf(object);
  ASSERT_TRUE(weak.ok()) << weak.error().what;
  ASSERT_EQ(weak.value().size(), 1u);
  EXPECT_EQ(weak.value()[0], "_ZNK4Pair3sumEv");
}

TEST(TidyControl, OnlyDefinedFunctionsCount) {
  const std::vector<std::string> weak = weakDefinitions("0000000000000000 T strong\n                 w reference\n                 U other\n0000000000000010 W copy\n0000000000000020 V table\n");
  EXPECT_EQ(weak, (std::vector<std::string>{"copy"}));
}

TEST(TidyControl, UnitsAreChosenByTheirFlags) {
  const auto objects = objectsBeyondTheBaselineIn(
      R"([{"directory":"/b","command":"g++ -O2 -mavx2 -mfma -o simd/a.o -c /s/a.cpp","file":"/s/a.cpp"},)"
      R"({"directory":"/b","command":"g++ -O2 -mavx2 -o tests/simd/c.o -c /s/c.cpp","file":"/s/c.cpp"},)"
      R"({"directory":"/b","command":"g++ -O2 -march=x86-64-v2 -o simd/b.o -c /s/b.cpp","file":"/s/b.cpp"}])");
  ASSERT_TRUE(objects.ok());
  EXPECT_EQ(objects.value(), (std::vector<fs::path>{"/b/simd/a.o"}));
  EXPECT_FALSE(objectsBeyondTheBaselineIn("{").ok());
}

}  // namespace
}  // namespace sluice::tidy
