#pragma once
// The repository that the tests were built from, read once, and what its rules must find in it: nothing.

#include <filesystem>

#include <gtest/gtest.h>

#include "tests/tidy/source_tree.h"

namespace sluice::tidy {

inline const Tree& workTree() {
  static const Tree kTree = loadTree(std::filesystem::path(SLUICE_TEST_DATA).parent_path());
  return kTree;
}

inline void expectNone(const std::vector<Finding>& findings) { EXPECT_TRUE(findings.empty()) << toString(findings); }

}  // namespace sluice::tidy
