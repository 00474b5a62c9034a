#pragma once
// Runs a program as a person would and catches what it says.

#include <string>
#include <utility>
#include <vector>

#include "core/base/result.h"

namespace sluice {

struct CommandSetting {
  std::string folder;                                             // to run in; empty: this process's
  std::string input;                                              // what the program reads on stdin
  std::vector<std::pair<std::string, std::string>> environment;  // beside, or instead of, this process's own
};

struct CommandOutput {
  int exit_code = 0;  // 128 + signal where one killed it
  std::string out, err;
};

/// Runs argv[0] (found as the shell would) to its end.
/// errors  Io when it cannot be started
Result<CommandOutput> runCommand(const std::vector<std::string>& argv, const CommandSetting& setting = {});

}  // namespace sluice
