// The pure parts: how extents become reads, how a budget becomes slots, whom a policy gives up, how a read goes on.

#include <algorithm>
#include <array>
#include <list>

#include <gtest/gtest.h>

#include "core/base/rng.h"
#include "stream/cache_policy.h"
#include "stream/pool_plan.h"
#include "stream/read_queue.h"
#include "stream/slot_plan.h"
#include "tests/support/test_seed.h"

namespace sluice {
namespace {

// An expert of GLM-5.2 in a gs64 container: 6,291,456 bytes a matrix and 786,432 a set of scales, each three side by side.
ExpertLayout glmExpert(std::uint64_t scales_at, std::uint64_t weights_at, std::uint32_t scales_file = 0) {
  ExpertLayout expert;
  int place = 0;
  for (MatrixLayout* const m : {&expert.down, &expert.gate, &expert.up}) {
    m->format = WeightFormat::Int4;
    m->rows = m == &expert.down ? 6144 : 2048;
    m->cols = m == &expert.down ? 2048 : 6144;
    m->group = 64;
    m->data = {0, weights_at + std::uint64_t(place) * 6291456, 6291456};
    m->scale_format = ScaleFormat::F32;
    m->scales = {scales_file, scales_at + std::uint64_t(place) * 786432, 786432};
    ++place;
  }
  return expert;
}

TEST(SlotPlan, ReadsAColibriExpertInTwoAlignedReads) {
  const SlotPlan plan = planSlot(glmExpert(1'000'004, 500'000'123));
  ASSERT_EQ(plan.read_count, 2);
  EXPECT_EQ(plan.reads[0].offset, 999'424u);  // 244 blocks
  EXPECT_EQ(plan.reads[0].bytes, 1'000'004u - 999'424u + 3u * 786432u);
  EXPECT_EQ(plan.payload_bytes, 3u * (6291456u + 786432u));
  for (int read_idx = 0; read_idx < plan.read_count; ++read_idx) {
    EXPECT_EQ(plan.reads[std::size_t(read_idx)].offset % 4096, 0u);
    EXPECT_EQ(plan.reads[std::size_t(read_idx)].slot_offset % 4096, 0u);
  }
  for (const PlannedPayload& payload : plan.payloads) {
    EXPECT_EQ(payload.slot_offset % 4096, payload.extent.offset % 4096);
    EXPECT_EQ(payload.arrival, Arrival::InPlace);
    EXPECT_LE(payload.slot_offset + payload.extent.bytes, plan.slot_bytes);
  }
  EXPECT_LE(plan.slot_bytes, plan.payload_bytes + 4 * 4096);
}

TEST(SlotPlan, MovesFloatsThatWouldLieCrooked_AndLeavesBytesAlone) {
  const SlotPlan plan = planSlot(glmExpert(1'000'002, 500'000'123));
  for (std::size_t payload_idx = 0; payload_idx < kPayloads; ++payload_idx) {
    const PlannedPayload& payload = plan.payloads[payload_idx];
    EXPECT_EQ(payload.arrival, payload_idx % 2 == 1 ? Arrival::Move : Arrival::InPlace);
    if (payload_idx % 2 == 1) { EXPECT_EQ(payload.final_offset % 64, 0u); }
  }
}

// Any six extents: reads cover them, slot ranges never overlap, everything stays inside.
TEST(SlotPlan, KeepsPayloadsApart_WhereverTheyLie) {
  for (std::uint64_t seed = testSeed(); seed < testSeed() + 2000; ++seed) {
    SCOPED_TRACE(seedNote(seed));
    Rng rng(seed);
    ExpertLayout expert;
    std::array<std::uint64_t, 3> end{};
    for (MatrixLayout* const m : {&expert.gate, &expert.up, &expert.down}) {
      const auto place = [&](std::uint64_t bytes) {
        const std::uint32_t file = std::uint32_t(rng.below(3));
        const std::uint64_t gap = rng.chance(0.5) ? 0 : rng.below(20'000);
        const Extent extent{file, end[file] + gap, bytes};
        end[file] = extent.offset + bytes;
        return extent;
      };
      m->format = rng.chance(0.5) ? WeightFormat::Int4 : WeightFormat::Bf16;
      m->data = place(2 * rng.below(9000));
      m->scale_format = ScaleFormat(rng.below(5));
      m->scales = place(m->scale_format == ScaleFormat::None ? 0 : 4 * rng.below(500));
    }
    const SlotPlan plan = planSlot(expert);
    std::uint64_t slot_end = 0;
    for (int read_idx = 0; read_idx < plan.read_count; ++read_idx) {
      const PlannedRead& read = plan.reads[std::size_t(read_idx)];
      EXPECT_GE(read.slot_offset, slot_end);
      slot_end = read.slot_offset + roundUp(read.bytes, 4096);
    }
    std::uint64_t moved_end = slot_end;
    for (const PlannedPayload& payload : plan.payloads) {
      if (payload.extent.bytes == 0) continue;
      bool covered = false;
      for (int read_idx = 0; read_idx < plan.read_count; ++read_idx) {
        const PlannedRead& read = plan.reads[std::size_t(read_idx)];
        covered |= read.file == payload.extent.file && read.offset <= payload.extent.offset &&
                   payload.extent.offset + payload.extent.bytes <= read.offset + read.bytes &&
                   payload.slot_offset == read.slot_offset + payload.extent.offset - read.offset;
      }
      EXPECT_TRUE(covered);
      if (payload.arrival == Arrival::InPlace) continue;
      EXPECT_GE(payload.final_offset, moved_end);
      const std::uint64_t factor = payload.arrival == Arrival::Move ? 1 : payload.arrival == Arrival::WidenE8m0 ? 4 : 2;
      moved_end = payload.final_offset + factor * payload.extent.bytes;
    }
    EXPECT_LE(moved_end, plan.slot_bytes);
  }
}

TEST(PoolPlan, SharesTheBudgetByExperts_AndKeepsKindsApart) {
  // GLM-5.2: 75 layers of int4 experts and a draft layer of int8 ones, 100 GB, top 8.
  const std::array<ExpertKind, 2> kinds{ExpertKind{Bytes(21'241'856), 75 * 256}, ExpertKind{Bytes(37'800'000), 256}};
  const PoolPlan plan = planPool(kinds, {Bytes(100'000'000'000), 0, 8}, 256).value();
  ASSERT_EQ(plan.classes.size(), 2u);
  EXPECT_LE(plan.bytes(), Bytes(100'000'000'000));
  EXPECT_GT(plan.bytes(), Bytes(100'000'000'000 - 21'241'856));
  EXPECT_NEAR(double(plan.classes[1].slots) / 256, double(plan.classes[0].slots) / (75 * 256), 0.02);
  EXPECT_EQ(plan.pins_max, plan.classes[1].slots / 2);
}

TEST(PoolPlan, FallsBackToOneClass_WhereTwoDoNotFit) {
  const std::array<ExpertKind, 2> kinds{ExpertKind{Bytes(100), 1000}, ExpertKind{Bytes(180), 100}};
  EXPECT_EQ(leastPoolBytes(kinds, 8), Bytes(16 * 180));
  const PoolPlan plan = planPool(kinds, {Bytes(16 * 180), 0, 8}, 100).value();
  ASSERT_EQ(plan.classes.size(), 1u);
  EXPECT_EQ(plan.classes[0].slots, 16);
  EXPECT_EQ(plan.pins_max, 8);
  EXPECT_EQ(planPool(kinds, {Bytes(16 * 180 - 1), 0, 8}, 100).error().code, Errc::OutOfBudget);
  const PoolPlan capped = planPool(kinds, {1_MiB, 16, 8}, 100).value();
  EXPECT_EQ(capped.classes.size(), 1u);
  EXPECT_EQ(capped.classes[0].slots, 16);
}

TEST(PoolPlan, BuysNoMoreSlotsThanThereAreExperts) {
  const std::array<ExpertKind, 1> kinds{ExpertKind{Bytes(100), 12}};
  const PoolPlan plan = planPool(kinds, {1_GiB, 0, 8}, 12).value();
  EXPECT_EQ(plan.classes[0].slots, 12);
  EXPECT_EQ(plan.pins_max, 12);
}

TEST(PoolPlan, NeverSpendsMoreThanItHas_WhateverTheKinds) {
  for (std::uint64_t seed = testSeed(); seed < testSeed() + 500; ++seed) {
    SCOPED_TRACE(seedNote(seed));
    Rng rng(seed);
    std::vector<ExpertKind> kinds;
    for (std::uint64_t i = 0; i < 1 + rng.below(4); ++i) kinds.push_back({Bytes(4096 * (1 + rng.below(100))), int(8 + rng.below(500))});
    const PoolLimits limits{Bytes(rng.below(100'000'000)), rng.chance(0.5) ? int(rng.below(300)) : 0, 4};
    const Result<PoolPlan> plan = planPool(kinds, limits, 8);
    const bool enough = limits.budget >= leastPoolBytes(kinds, 4) && (limits.experts_max == 0 || limits.experts_max >= 8);
    EXPECT_EQ(plan.ok(), enough);
    if (!plan.ok()) continue;
    EXPECT_LE(plan.value().bytes(), limits.budget);
    EXPECT_GE(plan.value().pins_max, 4);
    int slots = 0;
    for (const SlotClass& c : plan.value().classes) slots += c.slots;
    if (limits.experts_max != 0) { EXPECT_LE(slots, limits.experts_max); }
  }
}

TEST(LruPolicy, GivesUpWhatWasAskedForLongestAgo_AsAListDoes) {
  constexpr int kSlots = 9;
  for (std::uint64_t seed = testSeed(); seed < testSeed() + 50; ++seed) {
    SCOPED_TRACE(seedNote(seed));
    Rng rng(seed);
    const auto policy = makeCachePolicy(CachePolicyKind::Lru, kSlots);
    std::list<int> order;
    for (int step = 0; step < 300; ++step) {
      const int slot = int(rng.below(kSlots));
      const bool known = std::find(order.begin(), order.end(), slot) != order.end();
      if (!known) {
        policy->admit(slot, std::uint32_t(step), rng.chance(0.5));
        order.push_back(slot);
      } else if (rng.chance(0.3)) {
        policy->forget(slot);
        order.remove(slot);
      } else {
        policy->touch(slot);
        order.remove(slot);
        order.push_back(slot);
      }
      std::array<std::uint8_t, kSlots> evictable;
      for (std::uint8_t& flag : evictable) flag = rng.chance(0.6) ? 1 : 0;
      const auto want = std::find_if(order.begin(), order.end(), [&](int s) { return evictable[std::size_t(s)] != 0; });
      EXPECT_EQ(policy->victim(evictable), want == order.end() ? -1 : *want);
    }
  }
}

TEST(ReadQueue, PutsDemandedReadsFirst_AndPromotesGuesses) {
  std::array<ReadOp, 4> ops;
  ReadQueue queue;
  for (std::size_t i = 0; i < 3; ++i) {
    ops[i].urgency = Urgency::Speculative;
    queue.push(ops[i]);
  }
  queue.push(ops[3]);
  queue.promote(ops[2]);
  queue.promote(ops[3]);  // is demanded already: nothing changes
  EXPECT_EQ(queue.pop(), &ops[3]);
  EXPECT_EQ(queue.pop(), &ops[2]);
  EXPECT_EQ(queue.pop(), &ops[0]);
  EXPECT_EQ(queue.pop(), &ops[1]);
  EXPECT_EQ(queue.pop(), nullptr);
  EXPECT_TRUE(queue.empty());
}

TEST(ReadCursor, GoesOnAtAWholeBlock_AfterAShortAnswer) {
  alignas(4096) static std::array<std::byte, 16384> memory;
  ReadOp op;
  op.offset = 8192;
  op.bytes = 10'000;
  op.destination = memory.data();
  ReadCursor direct(op, true);
  EXPECT_EQ(direct.bytes(), 12'288u);
  EXPECT_FALSE(direct.advance(5000));
  EXPECT_EQ(direct.offset(), 8192u + 4096u);
  EXPECT_EQ(direct.destination(), memory.data() + 4096);
  EXPECT_EQ(direct.bytes(), 8192u);
  EXPECT_TRUE(direct.advance(8192));
  EXPECT_EQ(direct.have(), 10'000u);

  ReadCursor buffered(op, false);
  EXPECT_EQ(buffered.bytes(), 10'000u);
  EXPECT_FALSE(buffered.advance(5000));
  EXPECT_EQ(buffered.offset(), 8192u + 5000u);
  EXPECT_TRUE(buffered.advance(0));  // the end of the file
  EXPECT_EQ(buffered.have(), 5000u);

  ReadCursor tail(op, true);
  EXPECT_FALSE(tail.advance(8192));
  EXPECT_TRUE(tail.advance(100));  // less than a block: the file ends
  EXPECT_EQ(tail.have(), 8292u);
}

}  // namespace
}  // namespace sluice
