#pragma once
// Who may include whom, and link whom: the table of docs/ARCHITECTURE.md 1, as code.

#include <string_view>
#include <vector>

#include "tests/tidy/source_tree.h"

namespace sluice::tidy {

/// The room that `path` lies in ("core/base", "cli/serve", "tests", ...); empty outside of every room.
std::string_view roomOf(std::string_view path);

/// Each #include "..." of ours goes where the table allows.
std::vector<Finding> includesAgainstTheTable(const Tree& tree);
/// Each <third party> header stays in the rooms that own that dependency; each room's standard and POSIX headers are free.
std::vector<Finding> thirdPartyOutsideItsRooms(const Tree& tree);
/// The libraries of a room link no room outside of its row, and reach every room inside it.
std::vector<Finding> linkEdgesAgainstTheTable(const Tree& tree);

}  // namespace sluice::tidy
