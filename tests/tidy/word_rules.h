#pragma once
// Rules about words: calls that do not belong below cli, marks of unfinished work, what ties the repository to one machine.

#include <vector>

#include "tests/tidy/source_tree.h"

namespace sluice::tidy {

/// Below cli nothing prints, reads the environment, sleeps or exits.
std::vector<Finding> callsThatBelongToCli(const Tree& tree);
/// No marks of unfinished work, no disabled tests, no skip without a condition, no commented-out code.
std::vector<Finding> unfinishedWork(const Tree& tree);
/// No absolute path of somebody's machine, no registry's host name, nothing outside of the repository.
std::vector<Finding> wordsOfOneMachine(const Tree& tree);

}  // namespace sluice::tidy
