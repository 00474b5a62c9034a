#pragma once
// Defaults of one's own: a file of `name = value` lines (TOML), each the name of a flag. Flags win over the file, the file over what is built in.

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "core/base/result.h"

namespace sluice {

struct ConfigFile {
  std::filesystem::path path;                           // empty: there is none
  std::map<std::string, std::vector<std::string>> values;  // by flag name without dashes
};

/// `given`, or $XDG_CONFIG_HOME/sluice/config.toml when that exists.
/// errors  BadRequest: not readable, not TOML, sections (there are none)
Result<ConfigFile> readConfigFile(const std::filesystem::path& given);

/// Sets what the file says and the command line does not. Names that are flags of some other command of `program` are let pass.
/// errors  BadRequest: a name that no command has, a value that its flag refuses
Result<Done> applyConfigFile(const ConfigFile& file, CLI::App& program, CLI::App& command);

struct EffectiveOption {
  std::string name, value, origin;  // origin: "flag", "file", "default"
};
/// Every flag of `command` that takes part in an answer, as it will be used.
std::vector<EffectiveOption> effectiveOptions(const ConfigFile& file, const CLI::App& command);

}  // namespace sluice
