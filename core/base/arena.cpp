#include "core/base/arena.h"

#include <sys/mman.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include <fmt/format.h>

#include "core/base/check.h"
#include "core/base/file.h"

namespace sluice {

Result<Arena> Arena::create(Bytes bytes) {
  constexpr std::uint64_t kAddressMax = std::uint64_t(1) << 46;  // x86-64 user space is 2^47: beyond half of it is somebody's mistake
  if (bytes.count() > kAddressMax)
    return Error{Errc::OutOfBudget, fmt::format("{} bytes of memory were asked for, more than any machine of ours can address", bytes.count())};
  Arena arena;
  arena.capacity_ = roundUp(std::max<std::uint64_t>(bytes.count(), 1), kHugePage.count());
  arena.mapping_bytes_ = arena.capacity_ + kHugePage.count();
  void* const mapping =
      ::mmap(nullptr, arena.mapping_bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (mapping == MAP_FAILED)
    return Error{Errc::OutOfBudget, fmt::format("the system refuses to map {} bytes: {}; ask for less with --ram, or raise `ulimit -v`",
                                                arena.mapping_bytes_, errnoText(errno))};
  arena.mapping_ = mapping;
  arena.base_ = reinterpret_cast<std::byte*>(roundUp(reinterpret_cast<std::uintptr_t>(mapping), kHugePage.count()));
  arena.huge_pages_ = ::madvise(arena.base_, arena.capacity_, MADV_HUGEPAGE) == 0;
  return arena;
}

Arena::Arena(Arena&& o) noexcept
    : mapping_(std::exchange(o.mapping_, nullptr)),
      mapping_bytes_(o.mapping_bytes_),
      base_(o.base_),
      capacity_(o.capacity_),
      taken_(o.taken_),
      huge_pages_(o.huge_pages_),
      items_(std::move(o.items_)) {}

Arena::~Arena() {
  if (mapping_ != nullptr) ::munmap(mapping_, mapping_bytes_);
}

Result<std::span<std::byte>> Arena::take(Bytes bytes, std::uint64_t align, std::string_view name) {
  CHECK(align > 0 && (align & (align - 1)) == 0 && align <= kHugePage.count());
  const std::lock_guard lock(mutex_);
  const std::uint64_t begin = roundUp(taken_, align);
  if (begin > capacity_ || bytes.count() > capacity_ - begin)
    return Error{Errc::OutOfBudget, fmt::format("{} needs {} bytes, {} of the {} bytes of memory bought at start are left", name, bytes.count(),
                                                capacity_ - taken_, capacity_)};
  const std::uint64_t end = begin + bytes.count();
  const auto item = std::find_if(items_.begin(), items_.end(), [&](const ArenaItem& i) { return i.name == name; });
  if (item == items_.end()) {
    items_.push_back({std::string(name), Bytes(end - taken_)});
  } else {
    item->bytes += Bytes(end - taken_);
  }
  taken_ = end;
  return std::span<std::byte>(base_ + begin, bytes.count());
}

Bytes Arena::taken() const {
  const std::lock_guard lock(mutex_);
  return Bytes(taken_);
}

std::vector<ArenaItem> Arena::account() const {
  const std::lock_guard lock(mutex_);
  return items_;
}

}  // namespace sluice
