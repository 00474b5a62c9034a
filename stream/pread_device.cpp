#include "stream/pread_device.h"

#include <unistd.h>

#include <cerrno>

namespace sluice {

PreadDevice::PreadDevice(FileSet files, int depth) : files_(std::move(files)) {
  CHECK(depth >= 1);
  threads_.reserve(std::size_t(depth));
  for (int thread_idx = 0; thread_idx < depth; ++thread_idx) threads_.emplace_back([this] { work(); });
}

PreadDevice::~PreadDevice() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

void PreadDevice::submit(std::span<ReadOp* const> ops) {
  {
    const std::lock_guard lock(mutex_);
    for (ReadOp* const op : ops) queue_.push(*op);
  }
  if (ops.size() == 1) {
    changed_.notify_one();
  } else {
    changed_.notify_all();
  }
}

void PreadDevice::promote(ReadOp& op) {
  const std::lock_guard lock(mutex_);
  queue_.promote(op);
}

void PreadDevice::work() {
  for (;;) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return stopping_ || !queue_.empty(); });
    ReadOp* const op = queue_.pop();
    if (op == nullptr) return;  // stopping, and nothing waits
    lock.unlock();
    const auto begin = std::chrono::steady_clock::now();
    ReadDone done = readNow(*op);
    done.time = std::chrono::steady_clock::now() - begin;
    reads_.fetch_add(1, std::memory_order_relaxed);
    bytes_.fetch_add(done.bytes, std::memory_order_relaxed);
    op->sink->readDone(*op, done);
  }
}

ReadDone PreadDevice::readNow(ReadOp& op) {
  FileSet::Handle handle = files_.handle(op.file);
  ReadCursor cursor(op, handle.direct);
  for (;;) {
    const ssize_t got = ::pread(handle.fd, cursor.destination(), cursor.bytes(), off_t(cursor.offset()));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0 && errno == EINVAL && cursor.direct()) {
      if (!files_.fallBack(op.file).ok()) return {EIO, cursor.have(), {}};
      handle = files_.handle(op.file);
      cursor.fallBackToBuffered();
      continue;
    }
    if (got < 0) return {errno, cursor.have(), {}};
    if (cursor.advance(std::uint64_t(got))) return {0, cursor.have(), {}};
  }
}

DeviceReport PreadDevice::report() const {
  return {"pread", int(threads_.size()), files_.count(), files_.bufferedCount(), Bytes(bytes_.load(std::memory_order_relaxed)),
          reads_.load(std::memory_order_relaxed), files_.report()};
}

}  // namespace sluice
