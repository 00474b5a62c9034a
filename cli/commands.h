#pragma once
// The commands, one file each. Each prints what it has to say and returns how it went; errors are printed by the caller.

#include "cli/app.h"
#include "cli/exit_code.h"

namespace sluice {

struct Invocation {
  const Program& program;
  const Options& options;
  Progress& progress;
  InterruptGuard& interrupts;
};

using CommandResult = Result<ExitCode>;

CommandResult runCommand(const Invocation& call);
CommandResult chatCommand(const Invocation& call);
CommandResult demoCommand(const Invocation& call);
CommandResult traceCommand(const Invocation& call);
CommandResult scoreCommand(const Invocation& call);
CommandResult inspectCommand(const Invocation& call);
CommandResult verifyCommand(const Invocation& call);
CommandResult versionCommand(const Invocation& call);

/// A line on stderr behind the program's name.
void note(const Program& program, const std::string& line);
/// A document on stdout. errors: Io
Result<Done> printJson(const nlohmann::ordered_json& document);

}  // namespace sluice
