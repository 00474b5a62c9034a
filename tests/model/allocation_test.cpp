// Goal:   the token path allocates nothing after warm-up.
// Method: operator new is counted for the whole process over 100 decode steps and a piece of prefill, selection by the indexer included.

#include <gtest/gtest.h>

#include "tests/model/model_rig.h"
#include "tests/support/allocation_count.h"

namespace sluice {
namespace {

TEST(TokenPath, AllocatesNothing_Over100Steps) {
  RigOptions options = defaultPath();
  options.threads = 2;
  options.rows_max = 32;
  Rig rig(modelPath("nano-gs64"), options);
  const SequenceId sequence = rig.decoder->open().value();
  std::vector<ForwardRow> rows;
  int position = 0;
  const auto step = [&](int count) {
    rows.clear();
    for (int i = 0; i < count; ++i, ++position) rows.push_back({sequence, position, TokenId(std::uint32_t(position * 7 % 2000)), i + 1 == count, true});
    return rig.decoder->forward(rows, nullptr).ok();
  };
  rows.reserve(32);
  ASSERT_TRUE(step(32) && step(32) && step(1));  // warm-up; the next rows see more than the top 64
  const std::uint64_t before = allocationCount();
  bool good = true;
  for (int n = 0; n < 100; ++n) good = step(1) && good;
  good = step(32) && good;
  rig.decoder->rollback(sequence, 70);
  const std::uint64_t after = allocationCount();
  EXPECT_TRUE(good);
  EXPECT_EQ(after - before, 0u);
  // Negative control: the counter counts.
  const auto one = std::make_unique<int>(1);
  EXPECT_EQ(*one, 1);
  EXPECT_EQ(allocationCount() - after, 1u);
}

}  // namespace
}  // namespace sluice
