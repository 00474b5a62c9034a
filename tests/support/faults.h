#pragma once
// The grammar of --faults (sluice-faulty): comma-separated `name=value`.
//   seed=N           which run of chances; default 1
//   eio=P            a read ends with EIO
//   short=P          a read ends early, its tail overwritten
//   flip=P           one bit of what was read is turned
//   delay=P:TIME     a read's end is told TIME later (20ms, 5s, 100us)
//   stall=P:TIME     the same, meant long
//   enospc_after=N   writes fail with ENOSPC once N bytes were written
//   crash_at=N       the process ends, without cleaning up, at the N-th step of writing (1 is the first)
// P is a chance in [0, 1] a read.

#include <chrono>
#include <cstdint>
#include <optional>
#include <string_view>

#include "core/base/result.h"

namespace sluice {

struct Faults {
  std::uint64_t seed = 1;
  double eio = 0, short_read = 0, flip = 0;
  double delay = 0, stall = 0;
  std::chrono::nanoseconds delay_time{0}, stall_time{0};
  std::optional<std::uint64_t> enospc_after, crash_at;
};

/// errors  BadRequest: which part, and what was expected
Result<Faults> parseFaults(std::string_view text);

}  // namespace sluice
