#pragma once
// What the system says this process holds.

#include "core/base/bytes.h"

namespace sluice {

/// VmRSS: resident now. 0 where the system does not tell.
Bytes residentNow();
/// VmHWM: the most that was ever resident.
Bytes residentPeak();

}  // namespace sluice
