#include "cli/exit_code.h"

namespace sluice {

ExitCode exitCodeOf(Errc code) {
  switch (code) {
    case Errc::BadRequest: return ExitCode::Usage;
    case Errc::NotFound:
    case Errc::Corrupt:
    case Errc::Unsupported: return ExitCode::Model;
    case Errc::OutOfBudget: return ExitCode::Memory;
    case Errc::Io: return ExitCode::Disk;
    case Errc::Numeric:
    case Errc::Deadline: return ExitCode::Generation;
    case Errc::Cancelled: return ExitCode::Interrupted;
  }
  UNREACHABLE();
}

ExitCode exitCodeOf(EndReason reason, Errc code) {
  switch (reason) {
    case EndReason::Eos:
    case EndReason::StopSequence:
    case EndReason::ToolCall:
    case EndReason::MaxTokens:
    case EndReason::ContextFull:
    case EndReason::LoopGuard:
    case EndReason::Deadline: return ExitCode::Ok;
    case EndReason::Cancelled: return ExitCode::Interrupted;
    case EndReason::Error: return exitCodeOf(code);
  }
  UNREACHABLE();
}

}  // namespace sluice
