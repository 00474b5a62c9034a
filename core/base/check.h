#pragma once
// CHECK: our own faults. They abort with file and line; they never report the world's faults (that is Result, core/base/result.h).

namespace sluice {

/// Prints "FILE:LINE: CHECK failed: EXPR" on stderr and aborts.
[[noreturn]] void checkFailed(const char* expression, const char* file, int line) noexcept;

}  // namespace sluice

/// Always on: aborts when `condition` is false.
#define CHECK(condition) (static_cast<bool>(condition) ? void(0) : ::sluice::checkFailed(#condition, __FILE__, __LINE__))
/// Aborts: control must never come here (after a closed switch).
#define UNREACHABLE() ::sluice::checkFailed("unreachable", __FILE__, __LINE__)
#ifdef NDEBUG
#define DCHECK(condition) (true ? void(0) : void(condition))
#else
#define DCHECK(condition) CHECK(condition)
#endif
