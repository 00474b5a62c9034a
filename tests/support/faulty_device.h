#pragma once
// A device that fails by a seed (docs/STYLE.md, rule 20): wraps a real one; injects EIO, short reads, flipped bits, delays.

#include <condition_variable>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "core/base/rng.h"
#include "stream/block_device.h"
#include "tests/support/faults.h"

namespace sluice {

struct FaultCounts {
  std::uint64_t eio = 0, short_read = 0, flip = 0, delayed = 0;
};

class FaultyDevice final : public BlockDevice, private ReadSink {
 public:
  FaultyDevice(BlockDevice& real, const Faults& faults);
  /// Waits for what was delayed.
  ~FaultyDevice();
  void submit(std::span<ReadOp* const> ops) override;
  void promote(ReadOp& op) override;
  DeviceReport report() const override { return real_.report(); }
  FaultCounts counts() const;
  /// Faults from now on.
  void change(const Faults& faults);

 private:
  struct Wrapped : ReadOp {
    ReadOp* original = nullptr;
    bool eio = false, short_read = false, flip = false;
    std::uint64_t draw = 0;  // where to cut or flip
    std::chrono::nanoseconds late{0};
  };
  struct Told {
    std::chrono::steady_clock::time_point when;
    ReadOp* op;
    ReadDone done;
  };
  void readDone(ReadOp& op, const ReadDone& done) override;
  void work();

  BlockDevice& real_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  Faults faults_;
  Rng rng_;
  FaultCounts counts_;
  std::vector<std::unique_ptr<Wrapped>> live_;
  std::vector<Told> waiting_;
  bool stopping_ = false;
  std::thread teller_;
};

}  // namespace sluice
