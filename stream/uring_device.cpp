#include "stream/uring_device.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>

#include <fmt/format.h>
#include <liburing.h>

namespace sluice {
namespace {

// The wake-up's completion among those of reads, whose data is the flight's number.
constexpr std::uint64_t kWakeData = ~std::uint64_t(0);

// liburing 2.3 declares io_uring_enable_rings and does not export it.
bool enableRing(const io_uring& ring) { return io_uring_register(unsigned(ring.ring_fd), IORING_REGISTER_ENABLE_RINGS, nullptr, 0) == 0; }

}  // namespace

void RingExit::operator()(io_uring* ring) const {
  io_uring_queue_exit(ring);
  delete ring;
}

Result<LiveRing> createRing(int depth) {
  // DEFER_TASKRUN: completions are worked off when our thread asks, not by interrupting it; kernels before 6.1 do not know it. R_DISABLED: the
  // one issuer is the thread that enables the ring, not the one that makes it.
  const unsigned wishes[] = {IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_DEFER_TASKRUN | IORING_SETUP_R_DISABLED, IORING_SETUP_R_DISABLED};
  int refused = 0;
  for (const unsigned flags : wishes) {
    auto raw = std::make_unique<io_uring>();  // heap: liburing keeps its address
    refused = io_uring_queue_init(unsigned(depth) + 1, raw.get(), flags);
    if (refused == 0) {
      LiveRing live{std::unique_ptr<io_uring, RingExit>(raw.release()), OwnedFd(::eventfd(0, EFD_CLOEXEC))};
      if (!live.wake.valid()) return Error{Errc::Io, fmt::format("cannot make an eventfd: {}; raise `ulimit -n`", errnoText(errno))};
      return live;
    }
    if (refused != -EINVAL) break;
  }
  return Error{Errc::Io, fmt::format("io_uring is refused here: {}; allow it (sysctl kernel.io_uring_disabled=0, the container's seccomp profile), or use "
                                     "--io pread",
                                     errnoText(-refused))};
}

UringDevice::UringDevice(LiveRing ring, FileSet files, int depth)
    : ring_(std::move(ring.ring)), wake_fd_(std::move(ring.wake)), files_(std::move(files)), flights_(std::size_t(depth)) {
  CHECK(depth >= 1 && depth <= kReadDepthMax);
  for (int flight_idx = depth - 1; flight_idx >= 0; --flight_idx) free_flights_.push_back(flight_idx);
  resend_.reserve(std::size_t(depth));
  ended_.reserve(std::size_t(depth));
  thread_ = std::thread([this] { work(); });
}

UringDevice::~UringDevice() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wake();
  thread_.join();
}

void UringDevice::submit(std::span<ReadOp* const> ops) {
  bool asleep = false;
  {
    const std::lock_guard lock(mutex_);
    for (ReadOp* const op : ops) queue_.push(*op);
    asleep = !std::exchange(woken_, true);
  }
  if (asleep) wake();
}

void UringDevice::promote(ReadOp& op) {
  const std::lock_guard lock(mutex_);
  queue_.promote(op);
}

void UringDevice::wake() {
  const std::uint64_t one = 1;
  // Only a counter at its end could refuse; it is read long before.
  CHECK(::write(wake_fd_.get(), &one, sizeof one) == ssize_t(sizeof one));
}

// ---- the ring's thread

// Registered files save a reference count a read; where they are refused (an old kernel, a limit) plain descriptors do.
void UringDevice::registerFiles() {
  std::vector<int> fds;
  for (int file = 0; file < files_.count(); ++file) fds.push_back(files_.handle(std::uint32_t(file)).fd);
  registered_ = !fds.empty() && io_uring_register_files(ring_.get(), fds.data(), unsigned(fds.size())) == 0;
}

void UringDevice::armWake() {
  if (wake_armed_) return;
  io_uring_sqe* const sqe = io_uring_get_sqe(ring_.get());
  CHECK(sqe != nullptr);  // the ring has an entry for every flight and one for this
  io_uring_prep_read(sqe, wake_fd_.get(), &wake_count_, sizeof wake_count_, 0);
  io_uring_sqe_set_data64(sqe, kWakeData);
  wake_armed_ = true;
}

void UringDevice::work() {
  CHECK(enableRing(*ring_));
  registerFiles();
  for (;;) {
    armWake();
    if (fillRing()) return;
    const int rc = io_uring_submit_and_wait(ring_.get(), 1);
    // EAGAIN, EBUSY: the kernel is short of something for a moment; what was not taken stays in the ring and is offered again.
    CHECK(rc >= 0 || rc == -EINTR || rc == -EAGAIN || rc == -EBUSY);
    reap();
    // Completions are run when the ring is at rest: they may submit.
    for (const Ended& ended : ended_) ended.op->sink->readDone(*ended.op, ended.done);
    ended_.clear();
  }
}

// Sends what waits, as far as flights are free. True when stopping and nothing is left to do.
bool UringDevice::fillRing() {
  for (const int flight_idx : resend_) sendRead(flight_idx);
  resend_.clear();
  const std::lock_guard lock(mutex_);
  woken_ = false;
  while (!free_flights_.empty()) {
    ReadOp* const op = queue_.pop();
    if (op == nullptr) break;
    const int flight_idx = free_flights_.back();
    free_flights_.pop_back();
    flights_[std::size_t(flight_idx)] = {ReadCursor(*op, files_.handle(op->file).direct), std::chrono::steady_clock::now()};
    sendRead(flight_idx);
  }
  return stopping_ && queue_.empty() && free_flights_.size() == flights_.size();
}

void UringDevice::sendRead(int flight_idx) {
  const ReadCursor& cursor = flights_[std::size_t(flight_idx)].cursor;
  const std::uint32_t file = cursor.op().file;
  const FileSet::Handle handle = files_.handle(file);
  io_uring_sqe* const sqe = io_uring_get_sqe(ring_.get());
  CHECK(sqe != nullptr);
  // A file that fell back to the page cache has a descriptor that was never registered.
  const bool fixed = registered_ && handle.fd == files_.firstDescriptor(file);
  io_uring_prep_read(sqe, fixed ? int(file) : handle.fd, cursor.destination(), unsigned(cursor.bytes()), cursor.offset());
  if (fixed) sqe->flags |= IOSQE_FIXED_FILE;
  io_uring_sqe_set_data64(sqe, std::uint64_t(flight_idx));
}

void UringDevice::reap() {
  io_uring_cqe* cqe = nullptr;
  unsigned head = 0, seen = 0;
  io_uring_for_each_cqe(ring_.get(), head, cqe) {
    ++seen;
    const std::uint64_t data = io_uring_cqe_get_data64(cqe);
    if (data == kWakeData) {
      wake_armed_ = false;
    } else {
      settle(int(data), cqe->res);
    }
  }
  io_uring_cq_advance(ring_.get(), seen);
}

void UringDevice::settle(int flight_idx, int result) {
  Flight& flight = flights_[std::size_t(flight_idx)];
  ReadCursor& cursor = flight.cursor;
  int error = result < 0 ? -result : 0;
  if (error == EINVAL && cursor.direct()) {
    if (files_.fallBack(cursor.op().file).ok()) {
      cursor.fallBackToBuffered();
      resend_.push_back(flight_idx);
      return;
    }
    error = EIO;
  }
  if (error == EINTR || error == EAGAIN || (error == 0 && !cursor.advance(std::uint64_t(result)))) {
    resend_.push_back(flight_idx);
    return;
  }
  ended_.push_back({&cursor.op(), {error, cursor.have(), std::chrono::steady_clock::now() - flight.begin}});
  reads_.fetch_add(1, std::memory_order_relaxed);
  bytes_.fetch_add(cursor.have(), std::memory_order_relaxed);
  free_flights_.push_back(flight_idx);
}

DeviceReport UringDevice::report() const {
  return {"io_uring", int(flights_.size()), files_.count(), files_.bufferedCount(), Bytes(bytes_.load(std::memory_order_relaxed)),
          reads_.load(std::memory_order_relaxed), files_.report()};
}

}  // namespace sluice
