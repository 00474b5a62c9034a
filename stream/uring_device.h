#pragma once
// Reads by io_uring: one ring, one thread that alone touches it, reads in flight up to a bound.

#include <atomic>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "core/base/file.h"
#include "core/base/result.h"
#include "stream/block_device.h"
#include "stream/file_set.h"
#include "stream/read_queue.h"

struct io_uring;

namespace sluice {

constexpr int kReadDepthMax = 128;

struct RingExit {
  void operator()(io_uring* ring) const;
};
/// Exists only after the kernel made both. The ring is disabled until its one thread enables it; the event wakes that thread.
struct LiveRing {
  std::unique_ptr<io_uring, RingExit> ring;
  OwnedFd wake;
};
/// errors  Io, with the cure: containers and hardened kernels forbid io_uring
Result<LiveRing> createRing(int depth);

class UringDevice final : public BlockDevice {
 public:
  UringDevice(LiveRing ring, FileSet files, int depth);
  /// Waits for reads under way and those that wait.
  ~UringDevice() override;
  void submit(std::span<ReadOp* const> ops) override;
  void promote(ReadOp& op) override;
  DeviceReport report() const override;

 private:
  struct Flight {
    ReadCursor cursor;
    std::chrono::steady_clock::time_point begin;
  };
  struct Ended {
    ReadOp* op = nullptr;
    ReadDone done;
  };
  void work();
  void registerFiles();
  void armWake();
  void wake();
  bool fillRing();
  void sendRead(int flight_idx);
  void reap();
  void settle(int flight_idx, int result);

  const std::unique_ptr<io_uring, RingExit> ring_;
  const OwnedFd wake_fd_;
  FileSet files_;
  std::uint64_t wake_count_ = 0;  // the kernel writes it
  bool registered_ = false;
  // The ring's thread alone:
  std::vector<Flight> flights_;
  std::vector<int> free_flights_, resend_;
  std::vector<Ended> ended_;
  bool wake_armed_ = false;

  mutable std::mutex mutex_;
  ReadQueue queue_;
  bool stopping_ = false;
  bool woken_ = false;
  std::atomic<std::uint64_t> reads_{0}, bytes_{0};
  std::thread thread_;
};

}  // namespace sluice
