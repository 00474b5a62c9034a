#pragma once
// One named budget for everything large: given by --ram, or what the machine and its control groups leave. Parsing is pure, over text.

#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/bytes.h"
#include "core/base/result.h"

namespace sluice {

/// MemAvailable of /proc/meminfo; nothing when the line is missing or not a number.
std::optional<Bytes> memAvailable(std::string_view meminfo);

/// The three files of one memory control group, as text; v1 and v2 alike. A file that is missing is empty.
struct CgroupTexts {
  std::string limit;  // memory.max, or memory.limit_in_bytes
  std::string usage;  // memory.current, or memory.usage_in_bytes
  std::string stat;   // memory.stat
};

/// What one group still lets its processes take: limit - usage + inactive file pages, not below 0. Nothing where it sets no limit ("max", or v1's
/// huge number) or its files can't be read.
std::optional<Bytes> cgroupRoom(const CgroupTexts& texts);

/// The group that /proc/self/cgroup names: v2's "0::/path", or v1's line of the memory controller.
struct CgroupPlace {
  bool v2 = false;
  std::string path;  // from the mount point, starts with '/'
};
/// Every memory group that is told of, v1 before v2: on a hybrid machine one of them has the limits.
std::vector<CgroupPlace> cgroupPlaces(std::string_view self_cgroup);

struct AvailableMemory {
  Bytes bytes{0};
  std::string limited_by;  // "MemAvailable", or "the memory limit of control group /a/b"
};

/// The least of MemAvailable and the room of the process's control group and all its ancestors. Reads below `root` ("/" but in tests).
/// errors  Io, when not even /proc/meminfo tells
Result<AvailableMemory> availableMemory(const std::filesystem::path& root);

/// What is left to others of what is available: a twentieth, at least 256 MiB, at most half.
Bytes memoryMargin(Bytes available);

struct BudgetItem {
  std::string name;  // "resident weights", "kv", "activations", "expert slots", ...
  Bytes bytes{0};
};

class MemoryBudget {
 public:
  /// `source` says where the total comes from, for error texts: "--ram".
  MemoryBudget(Bytes total, std::string source) : total_(total), source_(std::move(source)) {}
  /// Available less the margin.
  static MemoryBudget automatic(const AvailableMemory& available);

  /// Sets `bytes` aside under `name`, whether they fit or not: check() and takeRest() tell.
  void reserve(std::string_view name, Bytes bytes);
  /// errors  OutOfBudget: a table of all items and the least total that would do
  Result<Done> check() const;
  /// Gives what is left, at most `most`, to `name`.
  /// errors  OutOfBudget when that is less than `least`: the table, and the least total that would do
  Result<Bytes> takeRest(std::string_view name, Bytes least, Bytes most);

  Bytes total() const { return total_; }
  Bytes reserved() const;
  Bytes left() const { return reserved() >= total_ ? Bytes(0) : total_ - reserved(); }
  const std::vector<BudgetItem>& items() const { return items_; }
  const std::string& source() const { return source_; }

 private:
  Error refusal(const std::vector<BudgetItem>& needed) const;
  Bytes total_;
  std::string source_;
  std::vector<BudgetItem> items_;
};

}  // namespace sluice
