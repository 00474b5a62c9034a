#include "stream/memory_budget.h"

#include <fstream>

#include <gtest/gtest.h>

#include "tests/support/temp_dir.h"

namespace sluice {
namespace {

constexpr const char* kMeminfo = "MemTotal:       24676648 kB\nMemFree:        11111111 kB\nMemAvailable:   20000000 kB\nBuffers:          100 kB\n";

TEST(MemoryBudget, ReadsMemAvailable) {
  EXPECT_EQ(memAvailable(kMeminfo), Bytes(20'000'000ull * 1024));
  EXPECT_FALSE(memAvailable(""));
  EXPECT_FALSE(memAvailable("MemTotal: 5 kB\n"));
  EXPECT_FALSE(memAvailable("MemAvailable: many kB\n"));
  EXPECT_FALSE(memAvailable("MemAvailable: 5 MB\n"));
  EXPECT_FALSE(memAvailable("MemAvailable: 99999999999999999999 kB\n"));
  EXPECT_FALSE(memAvailable("MemAvailable:"));
}

TEST(MemoryBudget, ReadsBothVersionsOfControlGroups) {
  EXPECT_EQ(cgroupRoom({"1000\n", "600\n", "anon 300\ninactive_file 150\nactive_file 20\n"}), Bytes(550));
  EXPECT_EQ(cgroupRoom({"1000\n", "600\n", ""}), Bytes(400));
  EXPECT_EQ(cgroupRoom({"1000\n", "1200\n", "inactive_file 100\n"}), Bytes(0));
  EXPECT_EQ(cgroupRoom({"1000\n", "100\n", "inactive_file 500\n"}), Bytes(1000));  // counters are not read at one moment
  EXPECT_FALSE(cgroupRoom({"max\n", "600\n", "inactive_file 150\n"}));
  EXPECT_FALSE(cgroupRoom({"9223372036854771712\n", "600\n", ""}));  // v1's "none"
  EXPECT_FALSE(cgroupRoom({"", "", ""}));
  EXPECT_FALSE(cgroupRoom({"1000\n", "", ""}));
  EXPECT_EQ(cgroupRoom({"1000\n", "600\n", "inactive_file 1\ntotal_inactive_file 200\n"}), Bytes(600));  // v1: children under total_ alone
}

TEST(MemoryBudget, FindsItsControlGroup) {
  const auto v2 = cgroupPlaces("0::/user.slice/run-1.scope\n");
  ASSERT_EQ(v2.size(), 1u);
  EXPECT_TRUE(v2[0].v2);
  EXPECT_EQ(v2[0].path, "/user.slice/run-1.scope");
  const auto v1 = cgroupPlaces("12:cpu,cpuacct:/x\n11:hugetlb,memory:/docker/abc\n1:name=systemd:/y\n0::/z\n");
  ASSERT_EQ(v1.size(), 2u);
  EXPECT_FALSE(v1[0].v2);
  EXPECT_EQ(v1[0].path, "/docker/abc");
  EXPECT_TRUE(cgroupPlaces("").empty());
  EXPECT_TRUE(cgroupPlaces("nonsense\n5:memory\n").empty());
}

struct Machine {
  TempDir dir;
  void put(const std::string& path, const std::string& text) {
    std::filesystem::create_directories((dir.path() / path).parent_path());
    std::ofstream(dir.path() / path) << text;
  }
};

TEST(MemoryBudget, TakesTheLeastOfTheMachineAndAllAncestors) {
  Machine machine;
  EXPECT_FALSE(availableMemory(machine.dir.path()).ok());  // not even /proc/meminfo
  machine.put("proc/meminfo", kMeminfo);
  EXPECT_EQ(availableMemory(machine.dir.path()).value().bytes, Bytes(20'480'000'000));
  EXPECT_EQ(availableMemory(machine.dir.path()).value().limited_by, "MemAvailable");

  machine.put("proc/self/cgroup", "0::/a/b/c\n");
  machine.put("sys/fs/cgroup/a/b/c/memory.max", "max\n");
  machine.put("sys/fs/cgroup/a/b/c/memory.current", "1000\n");
  machine.put("sys/fs/cgroup/a/b/memory.max", "8000000000\n");
  machine.put("sys/fs/cgroup/a/b/memory.current", "3000000000\n");
  machine.put("sys/fs/cgroup/a/b/memory.stat", "inactive_file 1000000000\n");
  machine.put("sys/fs/cgroup/a/memory.max", "9000000000\n");
  machine.put("sys/fs/cgroup/a/memory.current", "4000000000\n");
  const AvailableMemory a = availableMemory(machine.dir.path()).value();
  EXPECT_EQ(a.bytes, Bytes(5'000'000'000));  // the grandparent: 9 - 4; the parent would leave 6
  EXPECT_EQ(a.limited_by, "the memory limit of control group /a");
}

TEST(MemoryBudget, SeesAContainersOwnLimit_WhereThePathIsTheHosts) {
  Machine machine;
  machine.put("proc/meminfo", kMeminfo);
  machine.put("proc/self/cgroup", "4:memory:/docker/0123\n0::/init\n");
  machine.put("sys/fs/cgroup/memory/memory.limit_in_bytes", "2000000000\n");
  machine.put("sys/fs/cgroup/memory/memory.usage_in_bytes", "500000000\n");
  machine.put("sys/fs/cgroup/memory/memory.stat", "inactive_file 7\ntotal_inactive_file 100000000\n");
  EXPECT_EQ(availableMemory(machine.dir.path()).value().bytes, Bytes(1'600'000'000));
}

TEST(MemoryBudget, LeavesAMargin) {
  EXPECT_EQ(memoryMargin(100_GiB), 5_GiB);
  EXPECT_EQ(memoryMargin(1_GiB), 256_MiB);
  EXPECT_EQ(memoryMargin(100_MiB), 50_MiB);
  const MemoryBudget budget = MemoryBudget::automatic({100_GiB, "MemAvailable"});
  EXPECT_EQ(budget.total(), 95_GiB);
  EXPECT_NE(budget.source().find("MemAvailable"), std::string::npos);
}

TEST(MemoryBudget, GivesTheRestToTheSlots_AndNamesTheLeastThatWouldDo) {
  MemoryBudget budget(10_GiB, "--ram");
  budget.reserve("resident weights", 4_GiB);
  budget.reserve("kv", 1_GiB);
  budget.reserve("kv", 1_GiB);
  ASSERT_TRUE(budget.check().ok());
  EXPECT_EQ(budget.left(), 4_GiB);

  MemoryBudget other = budget;
  EXPECT_EQ(other.takeRest("expert slots", 1_GiB, 3_GiB).value(), 3_GiB);
  EXPECT_EQ(other.left(), 1_GiB);

  const Result<Bytes> refused = budget.takeRest("expert slots", 4_GiB + Bytes(1), 9_GiB);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, Errc::OutOfBudget);
  const std::string& text = refused.error().what;
  EXPECT_NE(text.find("at least 10737418241 bytes"), std::string::npos) << text;
  EXPECT_NE(text.find("--ram 10241MiB"), std::string::npos) << text;
  for (const char* name : {"resident weights", "kv", "expert slots", "4294967297", "--ram)"}) EXPECT_NE(text.find(name), std::string::npos) << text;
  EXPECT_EQ(budget.takeRest("expert slots", 4_GiB, 9_GiB).value(), 4_GiB);
  EXPECT_EQ(budget.left(), Bytes(0));
  budget.reserve("io", Bytes(1));
  EXPECT_FALSE(budget.check().ok());
  EXPECT_EQ(budget.left(), Bytes(0));
}

}  // namespace
}  // namespace sluice
