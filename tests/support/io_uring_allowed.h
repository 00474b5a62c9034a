#pragma once
// Tests of the io_uring device are skipped by name where the kernel or a container forbids it.

#include "stream/uring_device.h"

namespace sluice {

inline bool ioUringAllowed() { return createRing(1).ok(); }

}  // namespace sluice
