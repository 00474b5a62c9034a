#pragma once
// Cuts one block of memory into arrays. Run once without memory it tells how much is needed, so that what a budget is told and what is
// taken come from the same lines.

#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>

#include "core/base/bytes.h"
#include "core/base/check.h"

namespace sluice {

class Carver {
 public:
  /// Counts only: every array is null.
  Carver() = default;
  /// Cuts `memory`, which begins at a multiple of 64.
  explicit Carver(std::span<std::byte> memory) : memory_(memory), counting_(false) {}

  /// The next `count` elements, 64-aligned.
  template <class T>
  T* take(std::uint64_t count) {
    static_assert(std::is_trivially_copyable_v<T>);
    used_ = roundUp(used_, 64);
    const std::uint64_t at = used_;
    used_ += count * sizeof(T);
    if (counting_) return nullptr;
    CHECK(used_ <= memory_.size());
    return reinterpret_cast<T*>(memory_.data() + at);
  }
  bool counting() const { return counting_; }
  Bytes used() const { return Bytes(roundUp(used_, 64)); }

 private:
  std::span<std::byte> memory_;
  bool counting_ = true;
  std::uint64_t used_ = 0;
};

}  // namespace sluice
