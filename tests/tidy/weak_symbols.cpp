#include "tests/tidy/weak_symbols.h"

#include <fstream>
#include <iterator>

#include <simdjson.h>

#include "tests/support/command.h"
#include "tests/tidy/source_tree.h"

namespace sluice::tidy {

namespace fs = std::filesystem;

Result<std::vector<fs::path>> objectsBeyondTheBaseline(const fs::path& binary_dir) {
  std::ifstream in(binary_dir / "compile_commands.json");
  if (!in) return Error{Errc::NotFound, "no compile_commands.json in " + binary_dir.string()};
  return objectsBeyondTheBaselineIn(std::string(std::istreambuf_iterator<char>(in), {}));
}

Result<std::vector<fs::path>> objectsBeyondTheBaselineIn(std::string_view commands_json) {
  simdjson::dom::parser parser;
  simdjson::dom::array units;
  if (parser.parse(std::string(commands_json)).get(units) != simdjson::SUCCESS) return Error{Errc::Corrupt, "compile_commands.json is no JSON array"};
  std::vector<fs::path> objects;
  for (const simdjson::dom::element unit : units) {
    std::string_view command, directory;
    if (unit["command"].get(command) != simdjson::SUCCESS || unit["directory"].get(directory) != simdjson::SUCCESS) {
      return Error{Errc::Corrupt, "an entry of compile_commands.json without command and directory"};
    }
    if (command.find(" -mavx") == std::string_view::npos) continue;
    const std::size_t at = command.find(" -o ");
    if (at == std::string_view::npos) continue;
    const std::string_view rest = command.substr(at + 4);
    const std::string_view object = rest.substr(0, rest.find(' '));
    if (!object.starts_with("tests/")) objects.push_back(fs::path(directory) / object);  // what tests emulate is in no program
  }
  return objects;
}

std::vector<std::string> weakDefinitions(std::string_view nm_output) {
  std::vector<std::string> names;
  for (const std::string_view line : linesOf(nm_output)) {
    // "0000000000000000 W name"; an undefined weak reference has no address and a small letter, weak data is V: neither is code.
    const std::size_t type = line.find(' ') + 1;
    if (line.empty() || line.front() == ' ' || type + 2 > line.size()) continue;
    if (line[type] == 'W') names.emplace_back(line.substr(type + 2));
  }
  return names;
}

Result<std::vector<std::string>> weakDefinitionsOf(const fs::path& object) {
  const CommandOutput nm = TRY(runCommand({"nm", object.string()}));
  if (nm.exit_code != 0) return Error{Errc::Io, "nm " + object.string() + ": " + nm.err};
  return weakDefinitions(nm.out);
}

}  // namespace sluice::tidy
