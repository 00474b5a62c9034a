// A benchmark is a test with two sizes: 64 MiB under ctest, so that it can't rot; SLUICE_BENCH_MIB=8192 for figures. Expert-sized blocks in
// random order from a file that the page cache does not hold, by each device and by a plain loop of O_DIRECT preads, in turn, medians of the rounds.

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <mutex>
#include <vector>

#include <gtest/gtest.h>

#include "core/base/arena.h"
#include "core/base/rng.h"
#include "stream/open_device.h"
#include "stream/sums.h"
#include "tests/support/temp_dir.h"
#include "tests/support/tiny_experts.h"

namespace sluice {
namespace {

constexpr std::uint64_t kBlock = 21'233'664;  // one gs64 expert of GLM-5.2
static_assert(kBlock % kDirectAlign.count() == 0);
constexpr int kBuffers = 8;
constexpr int kRounds = 5;

double seconds(std::chrono::nanoseconds t) { return std::chrono::duration<double>(t).count(); }

double cpuSeconds() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  return double(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) + double(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) * 1e-6;
}

// Keeps kBuffers blocks in flight until all were read.
class Puller final : private ReadSink {
 public:
  Puller(BlockDevice& device, std::byte* memory, const std::vector<std::uint64_t>& order) : device_(device), memory_(memory), order_(order) {}
  void run() {
    for (int buffer_idx = 0; buffer_idx < kBuffers && next_ < order_.size(); ++buffer_idx) start(ops_[std::size_t(buffer_idx)], buffer_idx);
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return done_ == order_.size(); });
  }
  bool whole() const { return whole_; }

 private:
  void start(ReadOp& op, int buffer_idx) {
    op.offset = order_[next_++] * kBlock;
    op.bytes = kBlock;
    op.destination = memory_ + std::uint64_t(buffer_idx) * kBlock;
    op.sink = this;
    ReadOp* const one = &op;
    device_.submit({&one, 1});
  }
  void readDone(ReadOp& op, const ReadDone& done) override {
    const std::lock_guard lock(mutex_);
    whole_ &= done.error == 0 && done.bytes == kBlock;
    ++done_;
    if (next_ < order_.size()) start(op, int(&op - ops_.data()));
    if (done_ == order_.size()) changed_.notify_all();
  }
  BlockDevice& device_;
  std::byte* memory_;
  const std::vector<std::uint64_t>& order_;
  std::array<ReadOp, kBuffers> ops_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::size_t next_ = 0, done_ = 0;
  bool whole_ = true;
};

TEST(BenchBlockDevice, ReadsRandomExpertSizedBlocksFromAColdFile) {
  const char* const asked = std::getenv("SLUICE_BENCH_MIB");
  const std::uint64_t bytes = (asked == nullptr ? 64 : std::strtoull(asked, nullptr, 10)) << 20;
  const std::uint64_t blocks = std::max<std::uint64_t>(bytes / kBlock, 3);
  TempDir dir;
  const std::filesystem::path path = dir.path() / "blocks";
  Arena arena = Arena::create(Bytes(kBlock * kBuffers)).value();
  const std::span<std::byte> memory = arena.take(Bytes(kBlock * kBuffers), kHugePage.count(), "buffers").value();
  {
    const OwnedFd fd(::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
    Rng rng(1);
    for (std::uint64_t block = 0; block < blocks; ++block) {
      for (std::uint64_t at = 0; at < kBlock; at += 512) {
        const std::uint64_t word = rng.next();
        std::memcpy(memory.data() + at, &word, sizeof word);
      }
      ASSERT_EQ(::write(fd.get(), memory.data(), kBlock), ssize_t(kBlock));
    }
    ASSERT_EQ(::fsync(fd.get()), 0);
    ASSERT_EQ(::posix_fadvise(fd.get(), 0, 0, POSIX_FADV_DONTNEED), 0);
  }
  const std::array<ModelFile, 1> files{modelFileAt(path)};
  std::vector<std::uint64_t> order;
  for (std::uint64_t block = 0; block < blocks; ++block) order.push_back(block);
  Rng rng(2);
  for (std::size_t i = order.size() - 1; i > 0; --i) std::swap(order[i], order[rng.below(i + 1)]);

  const auto byDevice = [&](IoKind io) {
    const Result<std::unique_ptr<BlockDevice>> device = openDevice(files, {io, 16, Caching::Direct});
    if (!device.ok()) return false;  // io_uring forbidden here: its row says so
    Puller puller(*device.value(), memory.data(), order);
    puller.run();
    EXPECT_TRUE(puller.whole());
    return true;
  };
  const auto byPlainLoop = [&] {
    const Result<OwnedFd> direct = openRead(path, Caching::Direct);
    if (!direct.ok()) return false;
    for (const std::uint64_t block : order) EXPECT_TRUE(readExactly(direct.value(), path, block * kBlock, memory.first(kBlock)).ok());
    return true;
  };
  struct Way {
    const char* name;
    std::function<bool()> run;
    std::vector<double> rates, cpu;
  };
  std::array<Way, 3> ways{Way{"plain O_DIRECT pread loop", byPlainLoop, {}, {}}, Way{"io_uring", [&] { return byDevice(IoKind::Uring); }, {}, {}},
                          Way{"pread threads", [&] { return byDevice(IoKind::Pread); }, {}, {}}};
  for (int round = 0; round < kRounds; ++round)
    for (Way& way : ways) {
      const double cpu = cpuSeconds();
      const auto begin = std::chrono::steady_clock::now();
      if (!way.run()) continue;
      const double gigabytes = double(blocks * kBlock) * 1e-9;
      way.rates.push_back(gigabytes / seconds(std::chrono::steady_clock::now() - begin));
      way.cpu.push_back((cpuSeconds() - cpu) / gigabytes);
    }
  std::uint64_t checksum = sumBytes(memory.first(kBlock), 0);
  std::printf("%llu blocks of %.1f MB, seed 2, %d rounds, checksum %016llx\n", static_cast<unsigned long long>(blocks), double(kBlock) * 1e-6, kRounds,
              static_cast<unsigned long long>(checksum));
  for (Way& way : ways) {
    if (way.rates.empty()) {
      std::printf("%-28s refused here\n", way.name);
      continue;
    }
    std::sort(way.rates.begin(), way.rates.end());
    std::sort(way.cpu.begin(), way.cpu.end());
    std::printf("%-28s median %6.3f GB/s  min %6.3f  max %6.3f  cpu %.4f s/GB\n", way.name, way.rates[way.rates.size() / 2], way.rates.front(), way.rates.back(),
                way.cpu[way.cpu.size() / 2]);
  }
  EXPECT_FALSE(ways[2].rates.empty());
}

}  // namespace
}  // namespace sluice
