#pragma once
// The one place that large memory comes from: weights, slots, KV, activations. 2 MiB pages where the kernel grants them: they are the
// largest lever on disk reads (O_DIRECT into 4 KiB pages 1.2-1.5 GB/s, into 2 MiB pages 1.8-2.15 GB/s at a fifth of the CPU time).

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/bytes.h"
#include "core/base/result.h"

namespace sluice {

constexpr Bytes kHugePage{std::uint64_t(2) << 20};

/// What was taken under one name.
struct ArenaItem {
  std::string name;
  Bytes bytes;
};

/// Address space mapped once and given out front to back; it is unmapped only by the destructor, and nothing is given back before.
/// Memory is zero until written, and costs the machine nothing until touched.
class Arena {
 public:
  /// Maps `bytes`, rounded up to 2 MiB, at a 2 MiB boundary.
  /// errors  OutOfBudget (the system refuses so much address space)
  static Result<Arena> create(Bytes bytes);
  Arena(Arena&& o) noexcept;
  Arena& operator=(Arena&&) = delete;
  ~Arena();

  /// The next `bytes`, at a multiple of `align` (a power of two up to 2 MiB); counted, padding included, under `name`.
  /// errors   OutOfBudget, with the numbers
  /// threads  any
  Result<std::span<std::byte>> take(Bytes bytes, std::uint64_t align, std::string_view name);

  Bytes capacity() const { return Bytes(capacity_); }
  Bytes taken() const;
  /// One line a name, in order of first taking.
  std::vector<ArenaItem> account() const;
  /// False where the kernel refused 2 MiB pages: slower, not wrong.
  bool hugePages() const { return huge_pages_; }

 private:
  Arena() = default;
  void* mapping_ = nullptr;
  std::uint64_t mapping_bytes_ = 0;
  std::byte* base_ = nullptr;
  std::uint64_t capacity_ = 0, taken_ = 0;
  bool huge_pages_ = false;
  std::vector<ArenaItem> items_;
  mutable std::mutex mutex_;
};

}  // namespace sluice
