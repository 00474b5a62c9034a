#pragma once
// Weak functions in units that are built for one instruction set: the linker may hand such a copy to the whole program, which then dies on
// an older processor (docs/STYLE.md, rule 14).

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"

namespace sluice::tidy {

/// Objects of the build tree, tests/ aside, whose compile command asks for AVX or newer (from its compile_commands.json).
Result<std::vector<std::filesystem::path>> objectsBeyondTheBaseline(const std::filesystem::path& binary_dir);
/// The same from the text of a compile_commands.json.
Result<std::vector<std::filesystem::path>> objectsBeyondTheBaselineIn(std::string_view commands_json);
/// Names of the weak functions defined among lines of `nm`.
std::vector<std::string> weakDefinitions(std::string_view nm_output);
/// The weak definitions in one object, by `nm`.
Result<std::vector<std::string>> weakDefinitionsOf(const std::filesystem::path& object);

}  // namespace sluice::tidy
