#include "tests/support/allocation_count.h"

#include <atomic>
#include <cstdlib>
#include <new>

namespace {

std::atomic<std::uint64_t> allocations{0};

void* allocate(std::size_t bytes, std::size_t align) {
  allocations.fetch_add(1, std::memory_order_relaxed);
  void* const memory = align == 0 ? std::malloc(bytes == 0 ? 1 : bytes) : std::aligned_alloc(align, (bytes + align - 1) / align * align);
  if (memory == nullptr) std::abort();
  return memory;
}

}  // namespace

void* operator new(std::size_t bytes) { return allocate(bytes, 0); }
void* operator new[](std::size_t bytes) { return allocate(bytes, 0); }
void* operator new(std::size_t bytes, std::align_val_t align) { return allocate(bytes, std::size_t(align)); }
void* operator new[](std::size_t bytes, std::align_val_t align) { return allocate(bytes, std::size_t(align)); }
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete[](void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete[](void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { std::free(memory); }
void operator delete[](void* memory, std::align_val_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept { std::free(memory); }
void operator delete[](void* memory, std::size_t, std::align_val_t) noexcept { std::free(memory); }

namespace sluice {

std::uint64_t allocationCount() { return allocations.load(std::memory_order_relaxed); }

}  // namespace sluice
