#include "tests/tidy/weak_symbols.h"

#include <cstdio>
#include <fstream>
#include <iterator>

#include <simdjson.h>

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
    objects.push_back(fs::path(directory) / rest.substr(0, rest.find(' ')));
  }
  return objects;
}

std::vector<std::string> weakDefinitions(std::string_view nm_output) {
  std::vector<std::string> names;
  for (const std::string_view line : linesOf(nm_output)) {
    // "0000000000000000 W name"; an undefined weak reference has no address and a small letter.
    const std::size_t type = line.find(' ') + 1;
    if (line.empty() || line.front() == ' ' || type + 2 > line.size()) continue;
    if (std::string_view("WVu").find(line[type]) != std::string_view::npos) names.emplace_back(line.substr(type + 2));
  }
  return names;
}

Result<std::string> outputOf(const std::string& command) {
  std::FILE* pipe = ::popen(command.c_str(), "r");
  if (pipe == nullptr) return Error{Errc::Io, "cannot run: " + command};
  std::string out;
  char buffer[4096];
  for (std::size_t n = 0; (n = std::fread(buffer, 1, sizeof buffer, pipe)) > 0;) out.append(buffer, n);
  const int status = ::pclose(pipe);
  if (status != 0) return Error{Errc::Io, "'" + command + "' ended with status " + std::to_string(status) + ":\n" + out};
  return out;
}

}  // namespace sluice::tidy
