// Goal:   the table is chosen by name, and only among those that this CPU can run.
// Method: the names, the CPU's own flags as the kernel lists them, and the death of a wrong choice.

#include "simd/dispatch.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <fstream>
#include <sstream>
#include <string>

#include "simd/cpu_features.h"

namespace sluice {
namespace {

/// The words of the first "flags" line of the operating system's description of the CPU, with a space around each.
std::string flagsOfCpu() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    if (line.rfind("flags", 0) == 0) return line + ' ';
  }
  return {};
}
bool has(const std::string& flags, const std::string& name) { return flags.find(' ' + name + ' ') != std::string::npos; }

TEST(Dispatch, NamesEveryIsa_AndFindsItByItsName) {
  for (const Isa isa : kIsas) {
    EXPECT_EQ(isaByName(nameOf(isa)), isa);
    if (isaUsable(isa)) { EXPECT_EQ(kernelsFor(isa).isa, nameOf(isa)); }
  }
  EXPECT_EQ(isaByName("avx"), std::nullopt);
  EXPECT_EQ(isaByName(""), std::nullopt);
  EXPECT_EQ(isaByName("AVX2"), std::nullopt);
}

TEST(Dispatch, AgreesWithTheKernelsListOfFlags) {
  const std::string flags = flagsOfCpu();
  if (flags.empty()) GTEST_SKIP() << "no /proc/cpuinfo here";
  EXPECT_EQ(cpuFeatures().avx2, has(flags, "avx2") && has(flags, "fma") && has(flags, "f16c"));
  EXPECT_EQ(cpuFeatures().avxvnni, cpuFeatures().avx2 && has(flags, "avx_vnni"));
  EXPECT_EQ(cpuFeatures().avx512vnni, has(flags, "avx512f") && has(flags, "avx512bw") && has(flags, "avx512dq") && has(flags, "avx512vl") &&
                                          has(flags, "avx512_vnni"));
}

TEST(Dispatch, GivesAReasonForWhatCannotRun_AndChoosesTheBestThatCan) {
  EXPECT_TRUE(isaUsable(Isa::Scalar));
  EXPECT_FALSE(isaUsable(Isa::Amx));
  for (const Isa isa : kIsas) {
    EXPECT_EQ(isaUsable(isa), whyUnusable(isa).empty());
    if (isaUsable(isa)) { EXPECT_GE(bestIsa(), isa); }
    std::printf("%s: %s\n", nameOf(isa).data(), isaUsable(isa) ? "runs here" : whyUnusable(isa).data());
  }
  EXPECT_TRUE(isaUsable(bestIsa()));
}

TEST(DispatchDeath, RefusesAnUnusableIsa) { EXPECT_DEATH(kernelsFor(Isa::Amx), "CHECK failed"); }

}  // namespace
}  // namespace sluice
