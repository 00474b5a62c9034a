#include "tests/support/faulty_device.h"

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "core/base/check.h"

namespace sluice {

FaultyDevice::FaultyDevice(BlockDevice& real, const Faults& faults) : real_(real), faults_(faults), rng_(faults.seed), teller_([this] { work(); }) {}

FaultyDevice::~FaultyDevice() {
  {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return live_.empty() && waiting_.empty(); });
    stopping_ = true;
  }
  changed_.notify_all();
  teller_.join();
}

void FaultyDevice::change(const Faults& faults) {
  const std::lock_guard lock(mutex_);
  faults_ = faults;
}

FaultCounts FaultyDevice::counts() const {
  const std::lock_guard lock(mutex_);
  return counts_;
}

void FaultyDevice::submit(std::span<ReadOp* const> ops) {
  std::vector<ReadOp*> passed;
  {
    const std::lock_guard lock(mutex_);
    for (ReadOp* const op : ops) {
      auto wrapped = std::make_unique<Wrapped>();
      static_cast<ReadOp&>(*wrapped) = *op;
      wrapped->sink = this;
      wrapped->next = nullptr;
      wrapped->original = op;
      wrapped->eio = rng_.chance(faults_.eio);
      wrapped->short_read = !wrapped->eio && rng_.chance(faults_.short_read);
      wrapped->flip = !wrapped->eio && rng_.chance(faults_.flip);
      if (rng_.chance(faults_.delay)) wrapped->late = faults_.delay_time;
      if (rng_.chance(faults_.stall)) wrapped->late = faults_.stall_time;
      wrapped->draw = rng_.next();
      counts_.eio += wrapped->eio ? 1 : 0;
      counts_.short_read += wrapped->short_read ? 1 : 0;
      counts_.flip += wrapped->flip ? 1 : 0;
      counts_.delayed += wrapped->late.count() > 0 ? 1 : 0;
      passed.push_back(wrapped.get());
      live_.push_back(std::move(wrapped));
    }
  }
  real_.submit(passed);
}

void FaultyDevice::promote(ReadOp& op) {
  const std::lock_guard lock(mutex_);
  for (const std::unique_ptr<Wrapped>& wrapped : live_)
    if (wrapped->original == &op) return real_.promote(*wrapped);
}

void FaultyDevice::readDone(ReadOp& op, const ReadDone& done) {
  auto& wrapped = static_cast<Wrapped&>(op);
  ReadDone told = done;
  if (told.bytes > 0 && wrapped.flip) op.destination[wrapped.draw / 8 % told.bytes] ^= std::byte(1u << (wrapped.draw % 8));
  if (wrapped.eio) told = {EIO, 0, done.time};
  if (wrapped.short_read && told.bytes > 0) {
    const std::uint64_t kept = wrapped.draw % told.bytes;
    std::memset(op.destination + kept, 0xa5, told.bytes - kept);  // whoever uses what did not come shall see it
    told.bytes = kept;
  }
  const std::lock_guard lock(mutex_);
  waiting_.push_back({std::chrono::steady_clock::now() + wrapped.late, wrapped.original, told});
  const auto at = std::find_if(live_.begin(), live_.end(), [&](const std::unique_ptr<Wrapped>& w) { return w.get() == &op; });
  CHECK(at != live_.end());
  live_.erase(at);
  changed_.notify_all();  // under the lock: whoever waits may be the destructor
}

void FaultyDevice::work() {
  std::unique_lock lock(mutex_);
  for (;;) {
    const auto first = std::min_element(waiting_.begin(), waiting_.end(), [](const Told& a, const Told& b) { return a.when < b.when; });
    if (first == waiting_.end()) {
      if (stopping_) return;
      changed_.wait(lock);
      continue;
    }
    const Told told = *first;
    if (std::chrono::steady_clock::now() < told.when) {
      changed_.wait_until(lock, told.when);
      continue;
    }
    waiting_.erase(first);
    lock.unlock();
    told.op->sink->readDone(*told.op, told.done);
    lock.lock();
    changed_.notify_all();
  }
}

}  // namespace sluice
