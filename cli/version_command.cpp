#include <fmt/format.h>

#include "cli/build_info.h"
#include "cli/commands.h"
#include "simd/dispatch.h"

namespace sluice {

CommandResult versionCommand(const Invocation& call) {
  nlohmann::ordered_json usable = nlohmann::ordered_json::array();
  std::string names;
  for (const Isa isa : kIsas) {
    if (!isaUsable(isa)) continue;
    usable.push_back(nameOf(isa));
    names += fmt::format("{}{}", names.empty() ? "" : ", ", nameOf(isa));
  }
  if (call.options.json) {
    TRY(printJson({{"version", kBuildVersion}, {"commit", kBuildCommit}, {"isa", usable}, {"compiler", kBuildCompiler}}));
  } else {
    fmt::print("sluice {} ({}), {}, usable here: {}\n", kBuildVersion, kBuildCommit, kBuildCompiler, names);
  }
  return ExitCode::Ok;
}

}  // namespace sluice
