// Goal:   a Result is a value or an Error, TRY passes errors up unchanged, and asking for the wrong one is our own fault (it aborts).

#include "core/base/result.h"

#include <memory>
#include <string>

#include <gtest/gtest.h>

namespace sluice {
namespace {

Result<int> half(int n) {
  if (n % 2 != 0) return Error{Errc::BadRequest, std::to_string(n) + " is odd"};
  return n / 2;
}

Result<int> quarter(int n, int& calls) {
  const int once = TRY(half(n));
  ++calls;
  return TRY(half(once));
}

TEST(ResultType, HoldsAValue) {
  const Result<int> got = half(8);
  ASSERT_TRUE(got.ok());
  EXPECT_EQ(got.value(), 4);
}

TEST(ResultType, HoldsAnError) {
  const Result<int> got = half(7);
  ASSERT_FALSE(got.ok());
  EXPECT_EQ(got.error().code, Errc::BadRequest);
  EXPECT_EQ(got.error().what, "7 is odd");
}

TEST(Try, PassesTheErrorUpUnchanged_AndStopsThere) {
  int calls = 0;
  EXPECT_EQ(quarter(12, calls).value(), 3);
  EXPECT_EQ(calls, 1);
  EXPECT_EQ(quarter(7, calls).error().what, "7 is odd");
  EXPECT_EQ(calls, 1);  // the statement after the first TRY did not run
  EXPECT_EQ(quarter(6, calls).error().what, "3 is odd");
  EXPECT_EQ(calls, 2);
}

TEST(ResultType, MovesWhatCannotBeCopied) {
  Result<std::unique_ptr<int>> made = std::make_unique<int>(5);
  const std::unique_ptr<int> taken = std::move(made).value();
  EXPECT_EQ(*taken, 5);
}

TEST(ResultDeathTest, AbortsWithFileAndLine_WhenAskedForWhatItLacks) {
  const Result<int> bad = half(1);
  const Result<int> good = half(2);
  EXPECT_DEATH((void)bad.value(), "result\\.h:[0-9]+: CHECK failed: ok\\(\\)");
  EXPECT_DEATH((void)good.error(), "result\\.h:[0-9]+: CHECK failed: !ok\\(\\)");
}

TEST(CheckDeathTest, NamesTheExpression) {
  const int three = 3;
  CHECK(three == 3);  // control: a true condition goes on
  EXPECT_DEATH(CHECK(three == 4), "result_test\\.cpp:[0-9]+: CHECK failed: three == 4");
  EXPECT_DEATH(UNREACHABLE(), "CHECK failed: unreachable");
}

}  // namespace
}  // namespace sluice
