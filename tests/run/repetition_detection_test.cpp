// Goal:   the request field means what its documentation in vLLM says.
// Method: the published unit vectors, and bad requests by name.

#include "core/run/repetition_detection.h"

#include <gtest/gtest.h>

namespace sluice {
namespace {

std::vector<TokenId> ids(std::initializer_list<std::uint32_t> values) {
  std::vector<TokenId> out;
  for (const auto v : values) out.emplace_back(v);
  return out;
}

TEST(RepetitionDetection, FollowsThePublishedVectors) {
  EXPECT_TRUE(repeatedUnit({3, 2, 3}, ids({1, 2, 3, 1, 2, 3, 1, 2, 3})));
  EXPECT_FALSE(repeatedUnit({3, 2, 3}, ids({1, 2, 3, 1, 2, 3})));
  EXPECT_EQ(repeatedUnit({5, 2, 4}, ids({1, 2, 1, 2, 1, 2, 1, 2})), 2);
  EXPECT_FALSE(repeatedUnit({3, 2, 3}, ids({1, 2, 3, 1, 2, 3, 1, 2, 4})));
  EXPECT_EQ(repeatedUnit({3, 2, 3}, ids({9, 9, 4, 5, 6, 5, 6, 5, 6})), 2);
  EXPECT_FALSE(repeatedUnit({5, 3, 3}, ids({10, 20, 10, 20, 10, 20})));
  EXPECT_FALSE(repeatedUnit({0, 0, 0}, ids({1, 1, 1, 1})));
  // A run of one token satisfies every length: a least size is no protection for separators.
  EXPECT_EQ(repeatedUnit({8, 4, 3}, std::vector<TokenId>(12, TokenId(7))), 4);
}

TEST(RepetitionDetection, RefusesByNameWhatCannotBe) {
  const auto fault = [](RepetitionDetection r) {
    const Result<Done> checked = checkRepetitionDetection(r);
    return checked.ok() ? std::string("accepted") : checked.error().what;
  };
  EXPECT_EQ(fault({}), "accepted");
  EXPECT_EQ(fault({2048, 1, 5}), "accepted");
  EXPECT_NE(fault({2048, 1, 100}).find("204800"), std::string::npos);
  EXPECT_NE(fault({-1, 0, 3}).find("max_pattern_size"), std::string::npos);
  EXPECT_NE(fault({3, -1, 3}).find("min_pattern_size"), std::string::npos);
  EXPECT_NE(fault({3, 4, 3}).find("min_pattern_size"), std::string::npos);
  EXPECT_NE(fault({3, 1, 1}).find("min_count"), std::string::npos);
}

}  // namespace
}  // namespace sluice
