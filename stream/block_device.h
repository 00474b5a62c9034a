#pragma once
// The one door to the disk: asynchronous reads, in any order of completion. Production devices: uring_device, pread_device; tests
// decorate a device with faults. All behave alike: what one returns for a read, every other returns.

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "core/base/bytes.h"
#include "core/base/report.h"
#include "core/ports/expert_source.h"

namespace sluice {

struct ReadOp;

/// How a read ended.
struct ReadDone {
  int error = 0;            // an errno value; 0: none
  std::uint64_t bytes = 0;  // from ReadOp::offset on; fewer than asked only at the end of the file or beside an error
  std::chrono::nanoseconds time{0};
};

/// Who is told.
class ReadSink {
 public:
  /// Called once a read, from one of the device's threads, no lock of the device held, never from within submit(). The op is the
  /// caller's again, and may be submitted again from here.
  virtual void readDone(ReadOp& op, const ReadDone& done) = 0;

 protected:
  ~ReadSink() = default;
};

/// One read. It lives with the caller, at one address, from submit() to readDone(): devices link it and allocate nothing.
struct ReadOp {
  std::uint32_t file = 0;             // index into the model's files
  std::uint64_t offset = 0;           // a multiple of kDirectAlign
  std::uint64_t bytes = 0;            // wanted; the device may write up to the next multiple of kDirectAlign
  std::byte* destination = nullptr;   // a multiple of kDirectAlign; room for roundUp(bytes, kDirectAlign)
  Urgency urgency = Urgency::Demand;  // speculative reads start when no demanded one waits
  ReadSink* sink = nullptr;
  ReadOp* next = nullptr;  // the device's
};

struct DeviceReport {
  std::string name;        // "io_uring" or "pread"
  int depth = 0;           // reads in flight at most
  int files = 0;           // opened
  int files_buffered = 0;  // of them, through the page cache because O_DIRECT is refused
  Bytes bytes_read{0};
  std::uint64_t reads = 0;
  Report report;
};

class BlockDevice {
 public:
  virtual ~BlockDevice() = default;
  /// Starts reads, all together, in this order among equals. Never blocks for the disk, never fails: faults come to readDone().
  /// threads  any, readDone() included
  virtual void submit(std::span<ReadOp* const> ops) = 0;
  /// A speculative read was asked for: it goes before the others if it has not started.
  virtual void promote(ReadOp& op) = 0;
  virtual DeviceReport report() const = 0;
};

}  // namespace sluice
