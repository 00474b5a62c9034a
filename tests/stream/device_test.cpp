// Goal:   both devices answer alike, on every kind of file system, and where something is refused they say so and go on.
// Method: the same reads through each; refusals made real by a seccomp filter in a child, or by the door that the device itself uses.

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <condition_variable>
#include <cstddef>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <mutex>
#include <span>

#include <gtest/gtest.h>

#include "core/base/rng.h"
#include "stream/file_set.h"
#include "stream/open_device.h"
#include "tests/support/io_uring_allowed.h"
#include "tests/support/temp_dir.h"
#include "tests/support/test_seed.h"
#include "tests/support/tiny_experts.h"

namespace sluice {
namespace {

// Submits one read and waits for it.
class OneRead final : private ReadSink {
 public:
  ReadDone run(BlockDevice& device, ReadOp op) {
    op.sink = this;
    ReadOp* const one = &op;
    device.submit({&one, 1});
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return ended_; });
    ended_ = false;
    return done_;
  }

 private:
  void readDone(ReadOp&, const ReadDone& done) override {
    const std::lock_guard lock(mutex_);
    done_ = done;
    ended_ = true;
    changed_.notify_all();
  }
  std::mutex mutex_;
  std::condition_variable changed_;
  bool ended_ = false;
  ReadDone done_;
};

constexpr std::uint64_t kFileBytes = 300'007;  // ends in mid-block

struct DeviceCase {
  IoKind io;
  Caching caching;
  const char* parent;
};

class DeviceOn : public testing::TestWithParam<DeviceCase> {
 protected:
  void SetUp() override {
    if (GetParam().io == IoKind::Uring && !ioUringAllowed()) GTEST_SKIP() << "io_uring is refused here";
  }
};
INSTANTIATE_TEST_SUITE_P(Ways, DeviceOn,
                         testing::Values(DeviceCase{IoKind::Uring, Caching::Direct, ""}, DeviceCase{IoKind::Uring, Caching::Buffered, ""},
                                         DeviceCase{IoKind::Pread, Caching::Direct, ""}, DeviceCase{IoKind::Pread, Caching::Buffered, ""},
                                         DeviceCase{IoKind::Uring, Caching::Direct, "/dev/shm"}, DeviceCase{IoKind::Pread, Caching::Direct, "/dev/shm"}),
                         [](const auto& way) {
                           return std::string(way.param.io == IoKind::Uring ? "Uring" : "Pread") +
                                  (way.param.caching == Caching::Direct ? "Direct" : "Buffered") + (way.param.parent[0] == 0 ? "" : "InMemory");
                         });

TEST_P(DeviceOn, ReadsWhatIsThere_AndSaysWhereTheFileEnds) {
  const std::filesystem::path parent = GetParam().parent[0] == 0 ? std::filesystem::temp_directory_path() : std::filesystem::path(GetParam().parent);
  if (!std::filesystem::exists(parent)) GTEST_SKIP() << "no " << parent;
  const TempDir dir(parent);
  std::string content(kFileBytes, ' ');
  Rng rng(testSeed());
  for (char& c : content) c = char(rng.next());
  std::ofstream(dir.path() / "f", std::ios::binary) << content;
  const std::array<ModelFile, 1> files{modelFileAt(dir.path() / "f")};
  const auto device = openDevice(files, {GetParam().io, 4, GetParam().caching}).value();
  alignas(4096) static std::array<std::byte, 1 << 19> memory;
  OneRead reader;
  for (int step = 0; step < 100; ++step) {
    ReadOp op;
    op.offset = rng.below(80) * 4096;
    op.bytes = 1 + rng.below(100'000);
    op.destination = memory.data();
    memory.fill(std::byte(0xee));
    const ReadDone done = reader.run(*device, op);
    const std::uint64_t there = op.offset >= kFileBytes ? 0 : std::min(op.bytes, kFileBytes - op.offset);
    EXPECT_EQ(done.error, 0);
    EXPECT_EQ(done.bytes, there);
    if (there > 0) { EXPECT_EQ(std::memcmp(memory.data(), content.data() + op.offset, there), 0); }
    const std::uint64_t room = roundUp(op.bytes, 4096);
    EXPECT_EQ(memory[room], std::byte(0xee)) << "written past the room that was given";
  }
  EXPECT_EQ(device->report().reads, 100u);
}

TEST(FileSet, GoesOnThroughThePageCache_WhenDirectReadsAreRefused) {
  const TempDir dir;
  std::ofstream(dir.path() / "f") << "content";
  const std::array<ModelFile, 1> files{modelFileAt(dir.path() / "f")};
  FileSet set = FileSet::open(files, Caching::Direct).value();
  if (!set.handle(0).direct) GTEST_SKIP() << "the temporary directory refuses O_DIRECT by itself";
  const int direct = set.handle(0).fd;
  ASSERT_TRUE(set.fallBack(0).ok());
  ASSERT_TRUE(set.fallBack(0).ok());
  EXPECT_FALSE(set.handle(0).direct);
  EXPECT_NE(set.handle(0).fd, direct);
  EXPECT_EQ(set.firstDescriptor(0), direct);
  EXPECT_EQ(set.bufferedCount(), 1);
  ASSERT_EQ(set.report().warnings.size(), 1u);
  EXPECT_EQ(set.report().warnings[0].code, "direct_refused");
}

// What containers do: io_uring_setup fails with EPERM.
void forbidIoUring() {
  std::array<sock_filter, 4> program{{BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
                                      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_io_uring_setup, 0, 1),
                                      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)}};
  const sock_fprog filter{program.size(), program.data()};
  if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) != 0) ::_exit(3);
}

// In a child: prints what happened and ends with 0 when all went as it should.
[[noreturn]] void tryWithoutIoUring(std::span<const ModelFile> files) {
  forbidIoUring();
  DeviceOptions options;
  options.read_depth = 2;
  const auto chosen = openDevice(files, options);
  options.io = IoKind::Uring;
  const auto asked = openDevice(files, options);
  if (!chosen.ok() || asked.ok()) ::_exit(1);
  const DeviceReport report = chosen.value()->report();
  alignas(4096) static std::array<std::byte, 8192> memory;
  ReadOp op;
  op.bytes = 5000;
  op.destination = memory.data();
  const bool read = OneRead().run(*chosen.value(), op).bytes == 5000;
  std::fprintf(stderr, "%s; %s; %s\n", report.name.c_str(), report.report.warnings.at(0).text.c_str(), asked.error().what.c_str());
  ::_exit(read ? 0 : 1);
}

TEST(OpenDevice, FallsBackToPread_WhereIoUringIsForbidden_UnlessItWasAskedFor) {
  if (::prctl(PR_GET_SECCOMP, 0, 0, 0, 0) < 0) GTEST_SKIP() << "no seccomp here";
  const TempDir dir;
  std::ofstream(dir.path() / "f") << std::string(5000, 'x');
  const std::array<ModelFile, 1> files{modelFileAt(dir.path() / "f")};
  EXPECT_EXIT(tryWithoutIoUring(files), testing::ExitedWithCode(0),
              "pread; io_uring is refused here: Operation not permitted;.*reading by pread threads instead; io_uring is refused here: Operation not "
              "permitted;.*--io pread");
}

}  // namespace
}  // namespace sluice
