// Goal:   a team runs a body once on every member, its barrier holds everybody, and slices cover rows exactly once.

#include "core/base/parallel.h"

#include <atomic>
#include <cstddef>
#include <vector>

#include <gtest/gtest.h>

namespace sluice {
namespace {

TEST(SliceOf, CoversEveryRowOnce_CutAtTheGrain) {
  for (const int n : {0, 1, 5, 16, 63, 64, 65, 1000}) {
    for (const int count : {1, 2, 3, 7}) {
      for (const int grain : {1, 4, 64}) {
        int next = 0;
        for (int index = 0; index < count; ++index) {
          const Slice slice = sliceOf(n, index, count, grain);
          EXPECT_EQ(slice.begin, next) << n << ' ' << count << ' ' << grain;
          EXPECT_LE(slice.begin, slice.end);
          if (slice.end != n) {
            EXPECT_EQ(slice.end % grain, 0);
          }
          next = slice.end;
        }
        EXPECT_EQ(next, n) << count << ' ' << grain;
      }
    }
  }
}

TEST(SliceOf, DoesNotOverflow_OnTheLargestRows) {
  const Slice last = sliceOf(2147483647, 63, 64);
  EXPECT_EQ(last.end, 2147483647);
  EXPECT_NEAR(last.end - last.begin, 2147483647 / 64, 1);
}

TEST(TeamType, RunsTheBodyOnceOnEveryMember) {
  for (const int threads : {1, 2, 3, 5}) {
    Team team(threads);
    EXPECT_EQ(team.size(), threads);
    for (int repeat = 0; repeat < 20; ++repeat) {
      std::vector<std::atomic<int>> seen(static_cast<std::size_t>(threads));
      team.run([&](const Member& member) {
        EXPECT_EQ(member.count(), threads);
        seen[std::size_t(member.index())].fetch_add(1);
      });
      for (const auto& times : seen) EXPECT_EQ(times.load(), 1);
    }
  }
}

TEST(TeamType, RunReturns_OnlyWhenEveryMemberHas) {
  Team team(4);
  for (int repeat = 0; repeat < 50; ++repeat) {
    std::vector<int> rows(1001, 0);  // plain ints: what the members wrote must be visible after run()
    team.run([&](const Member& member) {
      const Slice slice = member.slice(int(rows.size()));
      for (int r = slice.begin; r < slice.end; ++r) rows[std::size_t(r)] += 1;
    });
    for (const int row : rows) ASSERT_EQ(row, 1);
  }
}

// Each member writes its cell, waits, and reads its neighbour's: without the barrier a neighbour would be seen early.
TEST(TeamType, BarrierShowsWhatTheOthersWrote_RoundAfterRound) {
  constexpr int kThreads = 3;
  Team team(kThreads);
  std::vector<int> cells(kThreads, 0);
  std::vector<int> wrong(kThreads, 0);
  team.run([&](const Member& member) {
    const int mine = member.index(), neighbour = (mine + 1) % kThreads;
    for (int round = 1; round <= 200; ++round) {
      cells[std::size_t(mine)] = round;
      member.barrier();
      if (cells[std::size_t(neighbour)] != round) ++wrong[std::size_t(mine)];
      member.barrier();
    }
  });
  for (const int count : wrong) EXPECT_EQ(count, 0);
}

TEST(TeamType, TakesABodyByReference_AndKeepsItsState) {
  Team team(2);
  std::atomic<int> sum{0};
  const auto body = [&](const Member& member) { sum += member.index() + 1; };
  team.run(body);
  team.run(body);
  EXPECT_EQ(sum.load(), 6);
}

TEST(TeamDeathTest, RefusesToBeEmpty) {
  EXPECT_DEATH(Team(0), "CHECK failed: threads >= 1");
}

}  // namespace
}  // namespace sluice
