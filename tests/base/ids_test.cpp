// Goal:   ids, bytes and views do the little that they promise, and nothing else (what they refuse is in tests/compile_fail).

#include "core/base/ids.h"

#include <vector>

#include <gtest/gtest.h>

#include "core/base/bytes.h"
#include "core/base/views.h"

namespace sluice {
namespace {

TEST(Ids, CompareByValue_AndStartAtZero) {
  EXPECT_EQ(TokenId(), TokenId(0));
  EXPECT_LT(TokenId(3), TokenId(4));
  EXPECT_NE(LayerId(3), LayerId(4));
  EXPECT_EQ(ExpertId(255).value(), 255u);
}

TEST(BytesType, CountsWhatFits_AndRounds) {
  EXPECT_EQ(1024_MiB / 20_MiB, 51u);
  EXPECT_EQ(1_GiB, Bytes(1073741824));
  EXPECT_EQ(3_KiB + 1_KiB, 4_KiB);
  EXPECT_EQ((4_KiB - 1_KiB) * 2, 6_KiB);
  EXPECT_EQ(roundUp(4097, 4096), 8192u);
  EXPECT_EQ(roundUp(4096, 4096), 4096u);
  EXPECT_EQ(roundDown(8191, 4096), 4096u);
  EXPECT_EQ(roundUp(0, 4096), 0u);
}

TEST(IdSpanType, IndexesByItsId) {
  std::vector<float> scores = {1.0F, 2.0F, 3.0F};
  const IdSpan<ExpertId, float> span{scores};
  span[ExpertId(1)] = 5.0F;
  EXPECT_EQ(scores[1], 5.0F);
}

TEST(MatViewType, RowsAreStrideApart_AndColsLong) {
  std::vector<float> data(12);
  for (int i = 0; i < 12; ++i) data[std::size_t(i)] = float(i);
  const MatView view{data, 3, 2, 4};
  EXPECT_EQ(view.row(2).size(), 2u);
  EXPECT_EQ(view.row(2)[0], 8.0F);
  EXPECT_EQ(view.row(1)[1], 5.0F);
}

}  // namespace
}  // namespace sluice
