// The blocks of a layer on small inputs whose answers are known by hand or by double arithmetic.

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include <gtest/gtest.h>

#include "core/base/rng.h"
#include "core/model/decoder.h"
#include "core/model/rope.h"
#include "core/model/router.h"
#include "core/model/sparse_index.h"
#include "tests/support/test_seed.h"

namespace sluice {
namespace {

std::vector<std::int32_t> top(const std::vector<float>& scores, int k) {
  std::vector<std::uint64_t> keys(scores.size());
  std::vector<std::int32_t> out(static_cast<std::size_t>(k));
  selectTop(scores, k, keys.data(), out.data());
  return out;
}

TEST(SelectTop, TakesTheLargest_AscendingByPosition) {
  EXPECT_EQ(top({0.5f, -1.0f, 3.0f, 2.0f, -0.5f}, 2), (std::vector<std::int32_t>{2, 3}));
  EXPECT_EQ(top({-5.0f, -1.0f, -3.0f, -2.0f}, 3), (std::vector<std::int32_t>{1, 2, 3}));
}

TEST(SelectTop, GivesTiesToTheLowestPosition_ZerosOfEitherSignAmongThem) {
  EXPECT_EQ(top({0.0f, 0.0f, 0.0f, 1.0f, 0.0f}, 3), (std::vector<std::int32_t>{0, 1, 3}));
  EXPECT_EQ(top({-1.0f, -0.0f, 0.0f, -0.0f, 0.0f}, 2), (std::vector<std::int32_t>{1, 2}));
  EXPECT_EQ(top({2.0f, 7.0f, 7.0f, 7.0f, 2.0f}, 4), (std::vector<std::int32_t>{0, 1, 2, 3}));
}

// A sort by (score falling, position rising) is the definition; random scores of few values make ties common.
TEST(SelectTop, EqualsAStableSort) {
  for (std::uint64_t seed = testSeed(); seed < testSeed() + 300; ++seed) {
    SCOPED_TRACE(seedNote(seed));
    Rng rng(seed);
    const int n = 2 + int(rng.below(200)), k = 1 + int(rng.below(std::uint64_t(n - 1)));
    std::vector<float> scores;
    for (int i = 0; i < n; ++i) scores.push_back(float(int(rng.below(9)) - 4) * 0.25f);
    std::vector<std::int32_t> order(static_cast<std::size_t>(n));
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(), [&](int a, int b) { return scores[std::size_t(a)] > scores[std::size_t(b)]; });
    order.resize(std::size_t(k));
    std::sort(order.begin(), order.end());
    EXPECT_EQ(top(scores, k), order);
  }
}

TEST(SelectTop, ChoosesDistinctPositions_WhateverTheBits) {
  const float nan = std::numeric_limits<float>::quiet_NaN(), inf = std::numeric_limits<float>::infinity();
  const std::vector<std::int32_t> got = top({nan, inf, -nan, -inf, nan, 0.0f, nan}, 4);
  EXPECT_TRUE(std::is_sorted(got.begin(), got.end()) && std::adjacent_find(got.begin(), got.end()) == got.end());
}

struct Choice {
  std::vector<std::uint32_t> ids;
  std::vector<float> weights;
  float margin = 0;
};

Choice choose(const RouterConfig& config, const std::vector<float>& scores, const std::vector<float>& bias) {
  std::vector<ExpertId> ids(std::size_t(config.top_k));
  Choice out;
  out.weights.resize(ids.size());
  out.margin = chooseExperts(config, scores, bias, ids, out.weights);
  for (const ExpertId id : ids) out.ids.push_back(id.value());
  return out;
}

TEST(Router, BiasChooses_ScoresAloneWeigh) {
  const RouterConfig config{.experts = 4, .top_k = 2, .normalise = true, .scale = 2.5f};
  const std::vector<float> scores{0.9f, 0.2f, 0.3f, 0.6f};
  const Choice plain = choose(config, scores, {0, 0, 0, 0});
  EXPECT_EQ(plain.ids, (std::vector<std::uint32_t>{0, 3}));
  const Choice biased = choose(config, scores, {0, 1, 1, 0});
  EXPECT_EQ(biased.ids, (std::vector<std::uint32_t>{1, 2}));
  EXPECT_FLOAT_EQ(biased.weights[0], 2.5f * 0.2f / 0.5f);  // 0.2 and 0.3, not 1.2 and 1.3
  EXPECT_FLOAT_EQ(biased.weights[1], 2.5f * 0.3f / 0.5f);
  EXPECT_FLOAT_EQ(biased.margin, 1.2f - 0.9f);
  // The same bias for all changes nothing: the weights do not see it.
  EXPECT_EQ(choose(config, scores, {7, 7, 7, 7}).weights, plain.weights);
}

TEST(Router, WithoutNormalising_WeightsAreScaledScores) {
  const Choice got = choose({.experts = 3, .top_k = 2, .normalise = false, .scale = 2.0f}, {0.25f, 0.5f, 0.125f}, {0, 0, 0});
  EXPECT_EQ(got.weights, (std::vector<float>{0.5f, 1.0f}));
}

TEST(Router, GivesTiesToTheLowerId) {
  const RouterConfig config{.experts = 5, .top_k = 2};
  EXPECT_EQ(choose(config, {0.5f, 0.5f, 0.5f, 0.5f, 0.5f}, {0, 0, 0, 0, 0}).ids, (std::vector<std::uint32_t>{0, 1}));
  EXPECT_EQ(choose(config, {0.1f, 0.5f, 0.9f, 0.5f, 0.5f}, {0, 0, 0, 0, 0}).ids, (std::vector<std::uint32_t>{1, 2}));
  EXPECT_EQ(choose(config, {0.1f, 0.5f, 0.9f, 0.5f, 0.5f}, {0, 0, 0, 0, 0}).margin, 0.0f);
}

TEST(Router, ChoosesAll_WhenAllAreWanted) {
  const Choice got = choose({.experts = 3, .top_k = 3}, {0.5f, 0.25f, 0.25f}, {0, 0, 0});
  EXPECT_EQ(got.ids, (std::vector<std::uint32_t>{0, 1, 2}));
  EXPECT_TRUE(std::isinf(got.margin));
  EXPECT_FLOAT_EQ(got.weights[0] + got.weights[1] + got.weights[2], 1.0f);
}

// Biases of published checkpoints lie near 7 with a spread of 0.25: what survives there is decided by the low bits of f32.
TEST(Router, AgreesWithDoubles_ForBiasesNearSeven) {
  const RouterConfig config{.experts = 256, .top_k = 8};
  int flipped_by_bf16 = 0;
  for (std::uint64_t seed = testSeed(); seed < testSeed() + 200; ++seed) {
    SCOPED_TRACE(seedNote(seed));
    Rng rng(seed);
    std::vector<float> scores, bias, narrow;
    for (int e = 0; e < 256; ++e) {
      scores.push_back(float(1.0 / (1.0 + std::exp(-4.0 * (rng.uniform() - 0.5)))));
      bias.push_back(float(6.817 + 0.246 * rng.uniform()));
      narrow.push_back(std::round(bias.back() * 32.0f) / 32.0f);  // the grid of bf16 near 7
    }
    std::vector<std::uint32_t> order(256);
    std::iota(order.begin(), order.end(), 0u);
    std::stable_sort(order.begin(), order.end(),
                     [&](std::uint32_t a, std::uint32_t b) { return double(scores[a]) + double(bias[a]) > double(scores[b]) + double(bias[b]); });
    if (double(scores[order[7]]) + double(bias[order[7]]) - double(scores[order[8]]) - double(bias[order[8]]) < 1e-6) continue;  // a tie in f32
    std::vector<std::uint32_t> want(order.begin(), order.begin() + 8);
    std::sort(want.begin(), want.end());
    EXPECT_EQ(choose(config, scores, bias).ids, want);
    flipped_by_bf16 += choose(config, scores, narrow).ids != want ? 1 : 0;
  }
  EXPECT_GT(flipped_by_bf16, 20);  // the control: a narrowed bias is noticed
}

TEST(Rope, TurnsByPositionTimesFrequency) {
  const RopeTable table(8e6, 64);
  ASSERT_EQ(table.pairs(), 32);
  std::vector<float> cosines(32), sines(32);
  for (const int position : {0, 1, 63, 4096, 1000000}) {
    table.fill(position, cosines.data(), sines.data());
    for (int i = 0; i < 32; ++i) {
      const float angle = float(position) * float(std::pow(8e6, -i / 32.0));
      EXPECT_NEAR(cosines[std::size_t(i)], std::cos(double(angle)), 1e-7) << position << ' ' << i;
      EXPECT_NEAR(sines[std::size_t(i)], std::sin(double(angle)), 1e-7) << position << ' ' << i;
    }
  }
}

TEST(MemoryFacts, LogitsAreBoundedByBytes_NotByRows) {
  EXPECT_EQ(logitsMaxFor(2048, 512), 512);
  EXPECT_EQ(logitsMaxFor(154880, 8192), 108);  // 64 MiB / (154,880 * 4)
  EXPECT_EQ(logitsMaxFor(100000000, 8192), 16);
}

TEST(MemoryFacts, KvHoldsALatentALayer_AndAnIndexKeyForFullLayers) {
  ModelConfig config;
  config.mla = {.heads = 64, .q_lora_rank = 2048, .kv_lora_rank = 512, .nope = 192, .rope = 64, .v = 256};
  config.indexer = {.heads = 32, .width = 128, .top_k = 2048};
  config.layers = {{.indexer = IndexerRole::Full}, {.indexer = IndexerRole::Shared}, {.indexer = IndexerRole::None}};
  config.mtp.indexer = IndexerRole::Full;
  const std::vector<KvLayerShape> shapes = kvShapes(config, true);
  ASSERT_EQ(shapes.size(), 4u);
  for (const KvLayerShape& shape : shapes) EXPECT_EQ(shape.latent_width, 576);
  EXPECT_EQ(shapes[0].index_width, 128);
  EXPECT_EQ(shapes[1].index_width, 0);
  EXPECT_EQ(shapes[2].index_width, 0);
  EXPECT_EQ(shapes[3].index_width, 128);
  EXPECT_EQ(kvShapes(config, false).size(), 3u);
}

}  // namespace
}  // namespace sluice
