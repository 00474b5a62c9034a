#pragma once
// What the program leaves behind, from one table.

#include "core/base/result.h"
#include "core/ports/event_log.h"

namespace sluice {

enum class ExitCode : int { Ok = 0, Usage = 2, Model = 3, Memory = 4, Disk = 5, Generation = 6, Interrupted = 130 };

/// Of an error met by a command.
ExitCode exitCodeOf(Errc code);
/// Of a generation's end; `code` is that of its error, when the reason is Error.
ExitCode exitCodeOf(EndReason reason, Errc code);

}  // namespace sluice
