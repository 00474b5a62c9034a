#pragma once
// Counts calls of operator new in the whole process: link allocation_count.cpp into the test.

#include <cstdint>

namespace sluice {

/// Since the process began, all threads.
std::uint64_t allocationCount();

}  // namespace sluice
