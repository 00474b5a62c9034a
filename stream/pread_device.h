#pragma once
// Reads by a pool of threads that block in pread: for kernels and containers that forbid io_uring.

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <thread>
#include <vector>

#include "stream/block_device.h"
#include "stream/file_set.h"
#include "stream/read_queue.h"

namespace sluice {

class PreadDevice final : public BlockDevice {
 public:
  /// `depth` threads, so as many reads at once.
  PreadDevice(FileSet files, int depth);
  /// Waits for reads under way and those that wait.
  ~PreadDevice() override;
  void submit(std::span<ReadOp* const> ops) override;
  void promote(ReadOp& op) override;
  DeviceReport report() const override;

 private:
  void work();
  ReadDone readNow(ReadOp& op);
  FileSet files_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  ReadQueue queue_;
  bool stopping_ = false;
  std::atomic<std::uint64_t> reads_{0}, bytes_{0};
  std::vector<std::thread> threads_;
};

}  // namespace sluice
