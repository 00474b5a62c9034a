// Goal:   whatever is asked, in whatever order, through whatever device, a pin holds the right bytes; and the books are right.
// Method: seeded streams of requests over small real files, against a model of the cache kept by the test.

#include "stream/expert_store.h"

#include <algorithm>
#include <deque>
#include <set>
#include <thread>

#include <gtest/gtest.h>

#include "core/base/rng.h"
#include "stream/open_device.h"
#include "tests/support/allocation_count.h"
#include "tests/support/io_uring_allowed.h"
#include "tests/support/temp_dir.h"
#include "tests/support/test_seed.h"
#include "tests/support/tiny_experts.h"

namespace sluice {
namespace {

constexpr int kTopK = 4;

struct Rig {
  TempDir dir;
  TinyExperts model;
  std::unique_ptr<BlockDevice> device;
  Arena arena;
  SteadyClock clock;
  std::unique_ptr<ExpertStore> store;

  Rig(const TinySpec& spec, std::uint64_t seed, IoKind io, int experts_max, Caching caching = Caching::Direct)
      : model(dir.path(), seed, spec),
        device(openDevice(model.files(), {io, 8, caching}).value()),
        arena(Arena::create(64_MiB).value()) {
    ExpertStoreOptions options;
    options.budget = 32_MiB;
    options.experts_max = experts_max;
    options.top_k = kTopK;
    store = ExpertStore::create(model.layers(), model.files(), *device, arena, clock, options).value();
  }
};

std::vector<ExpertId> someExperts(Rng& rng, int of, int count) {
  std::vector<std::uint32_t> all;
  for (int e = 0; e < of; ++e) all.push_back(std::uint32_t(e));
  std::vector<ExpertId> chosen;
  for (int i = 0; i < count; ++i) {
    const std::size_t at = std::size_t(rng.below(all.size()));
    chosen.push_back(ExpertId(all[at]));
    all.erase(all.begin() + std::ptrdiff_t(at));
  }
  return chosen;
}

// What an exact LRU over all layers does, by lists alone.
struct LruBook {
  std::size_t slots;
  std::deque<std::pair<std::uint32_t, std::uint32_t>> order;  // oldest first
  std::uint64_t hits = 0, misses = 0;

  void ask(std::uint32_t layer, const std::vector<ExpertId>& experts) {
    std::vector<std::pair<std::uint32_t, std::uint32_t>> absent;
    for (const ExpertId e : experts) {
      const auto key = std::pair(layer, e.value());
      const auto at = std::find(order.begin(), order.end(), key);
      if (at == order.end()) {
        absent.push_back(key);
        continue;
      }
      order.erase(at);
      order.push_back(key);
      ++hits;
    }
    misses += absent.size();
    while (order.size() + absent.size() > slots) order.pop_front();
    for (const auto& key : absent) order.push_back(key);
  }
};

class ExpertStoreOn : public testing::TestWithParam<IoKind> {
 protected:
  void SetUp() override {
    if (GetParam() == IoKind::Uring && !ioUringAllowed()) GTEST_SKIP() << "io_uring is refused here";
  }
};
INSTANTIATE_TEST_SUITE_P(Devices, ExpertStoreOn, testing::Values(IoKind::Uring, IoKind::Pread),
                         [](const auto& device) { return device.param == IoKind::Uring ? "Uring" : "Pread"; });

TEST_P(ExpertStoreOn, HandsOutTheRightBytes_WhateverIsAskedOfWhateverLayout) {
  const std::vector<TinySpec> specs = {
      {},
      {.scales = ScaleFormat::Bf16},
      {.scales = ScaleFormat::F16, .split = true},
      {.scales = ScaleFormat::E8m0, .shift = 3},
      {.shift = 1, .split = true, .draft_layer = true},
      {.layers = 2, .experts = 6, .hidden = 96, .inter = 160, .scales = ScaleFormat::None},
  };
  for (std::uint64_t seed = testSeed(); seed < testSeed() + 12; ++seed) {
    SCOPED_TRACE(seedNote(seed));
    const TinySpec& spec = specs[std::size_t(seed % specs.size())];
    Rng rng(seed);
    Rig rig(spec, seed, GetParam(), 2 * kTopK + int(rng.below(30)));
    for (int step = 0; step < 200; ++step) {
      const LayerId layer(1 + std::uint32_t(rng.below(std::uint64_t(rig.model.layerCount() - 1))));
      const int asked = 1 + int(rng.below(std::uint64_t(std::min(rig.store->pins_max(), rig.model.expertsIn(layer)))));
      const std::vector<ExpertId> experts = someExperts(rng, rig.model.expertsIn(layer), asked);
      if (rng.chance(0.3)) {
        const std::vector<ExpertId> guessed = someExperts(rng, rig.model.expertsIn(layer), 3);
        EXPECT_EQ(rig.store->request(layer, guessed, Urgency::Speculative).remaining, 0);
      }
      Ticket ticket = rig.store->request(layer, experts, Urgency::Demand);
      ASSERT_EQ(ticket.remaining, asked);
      std::set<ExpertId> seen;
      std::vector<ExpertPin> held;
      const int wanted = rng.chance(0.1) ? int(rng.below(std::uint64_t(asked))) : asked;
      for (int i = 0; i < wanted; ++i) {
        Result<ExpertPin> pin = rig.store->next(ticket);
        ASSERT_TRUE(pin.ok()) << pin.error().what;
        EXPECT_EQ(rig.model.difference(layer, pin.value().expert(), pin.value().weights()), "");
        seen.insert(pin.value().expert());
        held.push_back(std::move(pin).value());
      }
      EXPECT_EQ(seen.size(), std::size_t(wanted));
      for (const ExpertId e : seen) EXPECT_NE(std::find(experts.begin(), experts.end(), e), experts.end());
      // Held through everything that came meanwhile.
      for (const ExpertPin& pin : held) EXPECT_EQ(rig.model.difference(layer, pin.expert(), pin.weights()), "");
      rig.store->cancel(ticket);
    }
    rig.store->drain();
    const StreamReport report = rig.store->report();
    EXPECT_GT(report.misses, 0u);
    EXPECT_GT(report.bytes_read, Bytes(0));
    EXPECT_LE(rig.arena.taken(), 32_MiB);
  }
}

// Negative control of difference(): one nibble of one expert.
TEST_P(ExpertStoreOn, ComparisonNoticesOneNibble) {
  Rig rig({}, 5, GetParam(), 0);
  const ExpertId expert(3);
  Ticket ticket = rig.store->request(LayerId(1), {&expert, 1}, Urgency::Demand);
  const ExpertPin pin = std::move(rig.store->next(ticket)).value();
  const_cast<std::byte*>(pin.weights().down.data)[17] ^= std::byte(1);
  EXPECT_NE(rig.model.difference(LayerId(1), expert, pin.weights()), "");
}

TEST_P(ExpertStoreOn, CountsHitsAndMissesAsAnExactLruDoes) {
  for (std::uint64_t seed = testSeed(); seed < testSeed() + 6; ++seed) {
    SCOPED_TRACE(seedNote(seed));
    Rng rng(seed);
    const int slots = 2 * kTopK + int(rng.below(12));
    Rig rig({}, seed, GetParam(), slots);
    ASSERT_EQ(rig.store->report().slots, std::uint64_t(slots));
    LruBook book{std::size_t(slots), {}};
    for (int step = 0; step < 300; ++step) {
      const LayerId layer(1 + std::uint32_t(rng.below(2)));
      const std::vector<ExpertId> experts = someExperts(rng, 8, 1 + int(rng.below(kTopK)));
      book.ask(layer.value(), experts);
      Ticket ticket = rig.store->request(layer, experts, Urgency::Demand);
      while (ticket.remaining > 0) ASSERT_TRUE(rig.store->next(ticket).ok());
    }
    EXPECT_EQ(rig.store->report().hits, book.hits);
    EXPECT_EQ(rig.store->report().misses, book.misses);
    EXPECT_GT(book.hits, 0u);
    EXPECT_GT(book.misses, 0u);
  }
}

TEST_P(ExpertStoreOn, ReadsAnExpertOnce_WhenTwoAskBeforeItArrives) {
  Rig rig({}, 7, GetParam(), 0);
  const std::vector<ExpertId> experts = {ExpertId(1), ExpertId(2), ExpertId(9)};
  Ticket first = rig.store->request(LayerId(2), experts, Urgency::Demand);
  Ticket second = rig.store->request(LayerId(2), experts, Urgency::Demand);
  for (int i = 0; i < 3; ++i) {
    const ExpertPin a = std::move(rig.store->next(first)).value();
    const ExpertPin b = std::move(rig.store->next(second)).value();
    EXPECT_EQ(rig.model.difference(LayerId(2), a.expert(), a.weights()), "");
    EXPECT_EQ(rig.model.difference(LayerId(2), b.expert(), b.weights()), "");
  }
  const StreamReport report = rig.store->report();
  // Two reads an expert (scales, weights), whether the second asker found it in flight or already there.
  EXPECT_EQ(rig.device->report().reads, 6u);
  EXPECT_EQ(report.misses + report.hits, 6u);
  EXPECT_EQ(report.hits + report.joined, 3u);
}

TEST_P(ExpertStoreOn, HandsOutResidentExpertsFirst) {
  Rig rig({}, 8, GetParam(), 0);
  const std::vector<ExpertId> warm = {ExpertId(4), ExpertId(6)};
  Ticket ticket = rig.store->request(LayerId(1), warm, Urgency::Demand);
  while (ticket.remaining > 0) ASSERT_TRUE(rig.store->next(ticket).ok());
  const std::vector<ExpertId> mixed = {ExpertId(0), ExpertId(6), ExpertId(1), ExpertId(4)};
  ticket = rig.store->request(LayerId(1), mixed, Urgency::Demand);
  EXPECT_EQ(rig.store->next(ticket).value().expert(), ExpertId(6));
  EXPECT_EQ(rig.store->next(ticket).value().expert(), ExpertId(4));
  std::set<ExpertId> rest;
  rest.insert(rig.store->next(ticket).value().expert());
  rest.insert(rig.store->next(ticket).value().expert());
  EXPECT_EQ(rest, (std::set<ExpertId>{ExpertId(0), ExpertId(1)}));
}

TEST_P(ExpertStoreOn, AllocatesNothing_OnceMade) {
  Rig rig({.split = true}, 9, GetParam(), 2 * kTopK);
  Rng rng(1);
  std::vector<ExpertId> experts(kTopK);
  const auto run = [&](int steps) {
    for (int step = 0; step < steps; ++step) {
      const LayerId layer(1 + std::uint32_t(step % 2));
      for (int i = 0; i < kTopK; ++i) experts[std::size_t(i)] = ExpertId(std::uint32_t(i * 4) + std::uint32_t(rng.below(4)));
      Ticket ticket = rig.store->request(layer, experts, Urgency::Demand);
      static_cast<void>(rig.store->request(LayerId(1), {experts.data(), 2}, Urgency::Speculative));
      while (ticket.remaining > 0) CHECK(rig.store->next(ticket).ok());
    }
    rig.store->drain();
  };
  run(10);
  const std::uint64_t before = allocationCount();
  run(200);
  EXPECT_EQ(allocationCount() - before, 0u);
  const std::vector<int> control(3);  // negative control: the counter counts
  EXPECT_EQ(allocationCount() - before, 1u);
}

TEST_P(ExpertStoreOn, ServesSeveralThreadsAtOnce) {
  Rig rig({.split = true, .draft_layer = true}, 10, GetParam(), 0);
  std::vector<std::thread> threads;
  std::atomic<int> wrong{0};
  for (int t = 0; t < 3; ++t)
    threads.emplace_back([&, t] {
      Rng rng(std::uint64_t(100 + t));
      for (int step = 0; step < 150; ++step) {
        const LayerId layer(1 + std::uint32_t(rng.below(3)));
        Ticket ticket = rig.store->request(layer, someExperts(rng, 16, 3), Urgency::Demand);
        if (rng.chance(0.2)) static_cast<void>(rig.store->request(layer, someExperts(rng, 16, 2), Urgency::Speculative));
        while (ticket.remaining > 0) {
          const Result<ExpertPin> pin = rig.store->next(ticket);
          if (!pin.ok() || !rig.model.difference(layer, pin.value().expert(), pin.value().weights()).empty()) ++wrong;
        }
      }
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong.load(), 0);
}

TEST_P(ExpertStoreOn, ReadsThroughThePageCache_WhereDirectReadsAreNotWanted) {
  Rig rig({}, 11, GetParam(), 0, Caching::Buffered);
  EXPECT_EQ(rig.device->report().files_buffered, 1);
  const std::vector<ExpertId> experts = {ExpertId(15), ExpertId(0)};  // the file's last bytes too
  Ticket ticket = rig.store->request(LayerId(2), experts, Urgency::Demand);
  while (ticket.remaining > 0) {
    const ExpertPin pin = std::move(rig.store->next(ticket)).value();
    EXPECT_EQ(rig.model.difference(LayerId(2), pin.expert(), pin.weights()), "");
  }
}

TEST(ExpertStore, RefusesACacheBelowTwiceTopK_NamingTheLeast) {
  TempDir dir;
  const TinyExperts model(dir.path(), 1, {});
  const auto device = openDevice(model.files(), {IoKind::Pread, 2, Caching::Buffered}).value();
  Arena arena = Arena::create(64_MiB).value();
  const SteadyClock clock;
  ExpertStoreOptions options;
  options.top_k = kTopK;
  options.budget = 32_MiB;
  options.experts_max = 2 * kTopK - 1;
  const auto refused = ExpertStore::create(model.layers(), model.files(), *device, arena, clock, options);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, Errc::OutOfBudget);
  EXPECT_NE(refused.error().what.find("--cache-experts 8"), std::string::npos) << refused.error().what;
  options.experts_max = 0;
  const Bytes least = ExpertStore::plan(model.layers(), options).value().least;
  options.budget = least - Bytes(1);
  const auto small = ExpertStore::create(model.layers(), model.files(), *device, arena, clock, options);
  ASSERT_FALSE(small.ok());
  EXPECT_EQ(small.error().code, Errc::OutOfBudget);
  EXPECT_NE(small.error().what.find(std::to_string(least.count())), std::string::npos) << small.error().what;
  options.budget = least;
  EXPECT_TRUE(ExpertStore::create(model.layers(), model.files(), *device, arena, clock, options).ok());
}

TEST(ExpertStore, SaysSo_WhenMoreIsHeldThanItMayBe) {
  Rig rig({}, 12, IoKind::Pread, 2 * kTopK);
  std::vector<ExpertPin> held;
  for (std::uint32_t first : {0u, 4u}) {
    const std::vector<ExpertId> experts = {ExpertId(first), ExpertId(first + 1), ExpertId(first + 2), ExpertId(first + 3)};
    Ticket ticket = rig.store->request(LayerId(1), experts, Urgency::Demand);
    while (ticket.remaining > 0) held.push_back(std::move(rig.store->next(ticket)).value());
  }
  const ExpertId one_more(9);
  Ticket ticket = rig.store->request(LayerId(1), {&one_more, 1}, Urgency::Demand);
  const Result<ExpertPin> refused = rig.store->next(ticket);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, Errc::OutOfBudget);
  EXPECT_EQ(ticket.remaining, 0);
  // A guess has no claim either: it is dropped and counted.
  static_cast<void>(rig.store->request(LayerId(1), {&one_more, 1}, Urgency::Speculative));
  EXPECT_EQ(rig.store->report().speculative_dropped, 1u);
  held.clear();
  ticket = rig.store->request(LayerId(1), {&one_more, 1}, Urgency::Demand);
  EXPECT_TRUE(rig.store->next(ticket).ok());
}

TEST(ExpertStore, CountsGuesses_UsedLateAndVain) {
  Rig rig({}, 13, IoKind::Pread, 2 * kTopK);
  const auto guess = [&](std::uint32_t e) {
    const ExpertId expert(e);
    static_cast<void>(rig.store->request(LayerId(1), {&expert, 1}, Urgency::Speculative));
  };
  const auto demand = [&](std::uint32_t layer, std::uint32_t e) {
    const ExpertId expert(e);
    Ticket ticket = rig.store->request(LayerId(layer), {&expert, 1}, Urgency::Demand);
    CHECK(rig.store->next(ticket).ok());
  };
  guess(1);
  rig.store->drain();
  demand(1, 1);
  EXPECT_EQ(rig.store->report().speculative_used, 1u);
  EXPECT_EQ(rig.store->report().hits, 1u);
  demand(1, 1);
  EXPECT_EQ(rig.store->report().speculative_used, 1u);
  guess(2);
  rig.store->drain();
  for (std::uint32_t e = 0; e < 2 * kTopK; ++e) demand(2, e);
  EXPECT_EQ(rig.store->report().speculative_vain, 1u);
}

}  // namespace
}  // namespace sluice
