#include "cli/config_file.h"

#include <cstdlib>
#include <sstream>

#include <fmt/format.h>

#include "core/base/file.h"

namespace sluice {
namespace {

std::filesystem::path defaultPath() {
  if (const char* config = std::getenv("XDG_CONFIG_HOME"); config != nullptr && *config == '/') return std::filesystem::path(config) / "sluice" / "config.toml";
  if (const char* home = std::getenv("HOME"); home != nullptr && *home != '\0') return std::filesystem::path(home) / ".config" / "sluice" / "config.toml";
  return {};
}

// "-n" is written as n, "--top-p" as top-p or top_p.
CLI::Option* optionNamed(CLI::App& command, const std::string& name) {
  std::string dashed = name;
  for (char& c : dashed)
    if (c == '_') c = '-';
  CLI::Option* option = command.get_option_no_throw((dashed.size() == 1 ? "-" : "--") + dashed);
  return option != nullptr && option->get_configurable() ? option : nullptr;
}

}  // namespace

Result<ConfigFile> readConfigFile(const std::filesystem::path& given) {
  ConfigFile file;
  std::error_code fault;
  file.path = given.empty() ? defaultPath() : given;
  if (given.empty() && (file.path.empty() || !std::filesystem::exists(file.path, fault))) return ConfigFile{};
  Result<std::string> text = readWholeFile(file.path, 1_MiB);
  if (!text.ok()) return Error{Errc::BadRequest, fmt::format("--config: {}", text.error().what)};
  try {
    std::istringstream stream(text.value());
    for (const CLI::ConfigItem& item : CLI::ConfigTOML().from_config(stream)) {
      if (!item.parents.empty() || item.name == "++" || item.name == "--")
        return Error{Errc::BadRequest, fmt::format("'{}' has sections; write flags as plain `name = value` lines", file.path.string())};
      file.values[item.name] = item.inputs;
    }
  } catch (const std::exception& wrong) {
    return Error{Errc::BadRequest, fmt::format("'{}' is not a file of `name = value` lines: {}", file.path.string(), wrong.what())};
  }
  return file;
}

Result<Done> applyConfigFile(const ConfigFile& file, CLI::App& program, CLI::App& command) {
  for (const auto& [name, inputs] : file.values) {
    CLI::Option* option = optionNamed(command, name);
    if (option == nullptr) {
      bool elsewhere = false;
      for (CLI::App* other : program.get_subcommands([](CLI::App*) { return true; })) elsewhere = elsewhere || optionNamed(*other, name) != nullptr;
      if (!elsewhere) return Error{Errc::BadRequest, fmt::format("'{}' sets '{}', which is no flag of any command", file.path.string(), name)};
      continue;
    }
    if (option->count() > 0) continue;
    try {
      option->add_result(inputs);
      option->run_callback();
    } catch (const std::exception& wrong) {
      return Error{Errc::BadRequest, fmt::format("'{}', {}: {}", file.path.string(), name, wrong.what())};
    }
  }
  return Done{};
}

std::vector<EffectiveOption> effectiveOptions(const ConfigFile& file, const CLI::App& command) {
  std::vector<EffectiveOption> all;
  for (const CLI::Option* option : command.get_options()) {
    if (!option->get_configurable() || option->get_positional()) continue;
    const std::string name = option->get_single_name();
    const bool in_file = file.values.contains(name);
    std::string value;
    for (const std::string& part : option->results()) value += (value.empty() ? "" : " ") + part;
    if (option->count() == 0) value = option->get_default_str();
    all.push_back({name, value, option->count() == 0 ? "default" : in_file ? "file" : "flag"});
  }
  return all;
}

}  // namespace sluice
