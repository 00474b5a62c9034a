#pragma once
// Rules about files as wholes: their size, their names, who builds them and who uses them.

#include <vector>

#include "tests/tidy/source_tree.h"

namespace sluice::tidy {

/// Code of more than 600 lines needs a line in docs/decisions/ that names it and says why.
std::vector<Finding> longFiles(const Tree& tree);
/// Every .cpp is listed in a CMakeLists.txt, and no CMakeLists.txt globs.
std::vector<Finding> filesOutsideOfCMake(const Tree& tree);
/// No numbered files, and none that end in _utils, _common or _misc.
std::vector<Finding> badFileNames(const Tree& tree);
/// Headers that nobody includes, scripts and documents that nobody names, golden values and models that no test names.
std::vector<Finding> deadFiles(const Tree& tree);
/// Every library that a CMakeLists.txt looks for is in a package that ./setup installs, so that a fresh machine has it too.
std::vector<Finding> packagesWithoutSetup(const Tree& tree);

}  // namespace sluice::tidy
