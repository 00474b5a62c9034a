// Goal:   a row's logits depend on its sequence alone, to the bit (docs/ARCHITECTURE.md, invariant 3).
// Method: one plain run (one thread, one forward, least pins) against runs that differ in everything that may not matter. The models have
//         int4 groups beside int8 rows, odd widths, mixed formats; sequences are longer than the index's top k and cross tiles, slabs and waves.

#include <string>

#include <gtest/gtest.h>

#include "simd/dispatch.h"
#include "tests/model/model_rig.h"
#include "tests/support/golden.h"

namespace sluice {
namespace {

struct Case {
  const char* model;
  bool exact;
  int planes;
  RowFormat kv;
  int rows;  // of the golden prompt
};

std::string nameOfCase(const testing::TestParamInfo<Case>& c) {
  std::string name = c.param.model;
  for (char& letter : name)
    if (letter == '-') letter = '_';
  return name + (c.param.exact ? "_exact" : c.param.planes == 1 ? "_8bit" : "_16bit") + (c.param.kv == RowFormat::Bf16 ? "_bf16" : "");
}

class Invariance : public testing::TestWithParam<Case> {
 protected:
  RigOptions plain() const {
    return {.exact = GetParam().exact, .planes = GetParam().planes, .kv = GetParam().kv, .isa = bestIsa(), .threads = 1, .sequences_max = 3};
  }
  std::filesystem::path path() const { return modelPath(GetParam().model); }
  std::vector<TokenId> prompt() const {
    std::vector<TokenId> ids = tokensOf(Golden(path() / "expected.safetensors").integers("ids"));
    ids.resize(std::min(ids.size(), std::size_t(GetParam().rows)));
    return ids;
  }
  // The run that all others must equal: made once a case.
  const Logits& plainRun() const {
    static std::map<std::string, Logits> made;
    Logits& logits = made[nameOfCase({GetParam(), 0})];
    if (logits.empty()) {
      Rig rig(path(), plain());
      logits = rig.feedFresh(prompt(), int(prompt().size()));
    }
    return logits;
  }
  /// The prompt with its second token changed: whoever compares with the plain run must notice.
  std::vector<TokenId> otherPrompt() const {
    std::vector<TokenId> ids = prompt();
    ids[1] = TokenId(ids[1].value() ^ 1u);
    return ids;
  }
};

TEST_P(Invariance, HowAPromptIsCutDoesNotMatter) {
  Rig rig(path(), plain());
  for (const int piece : {1, 7, 64}) EXPECT_EQ(rig.feedFresh(prompt(), piece), plainRun()) << "in pieces of " << piece;
  EXPECT_NE(rig.feedFresh(otherPrompt(), 64), plainRun());
}

TEST_P(Invariance, ThreadsDoNotMatter) {
  for (const int threads : {2, 5}) {
    RigOptions options = plain();
    options.threads = threads;
    Rig rig(path(), options);
    const std::vector<TokenId> ids = prompt();
    const std::span<const TokenId> tail = std::span(ids).last(9);
    const SequenceId sequence = rig.decoder->open().value();
    Logits got = rig.feed(sequence, std::span(ids).first(ids.size() - 9), 512);
    for (const auto& row : rig.feed(sequence, tail, 1)) got.push_back(row);
    EXPECT_EQ(got, plainRun()) << threads << " threads";
    EXPECT_NE(rig.feedFresh(otherPrompt(), 512), plainRun());
  }
}

TEST_P(Invariance, OrderOfArrivalAndPinsDoNotMatter) {
  for (std::uint64_t seed = 2; seed < 6; ++seed) {
    RigOptions options = plain();
    options.seed = seed;
    options.pins_max = seed % 2 == 0 ? 64 : 0;  // one wave of all experts, or waves of top_k
    Rig rig(path(), options);
    EXPECT_EQ(rig.feedFresh(prompt(), 512), plainRun()) << "seed " << seed;
    EXPECT_EQ(rig.experts.pinsHeld(), 0);
  }
}

TEST_P(Invariance, EveryInstructionSetOfThisMachineAgrees) {
  for (const Isa isa : kIsas) {
    if (!isaUsable(isa)) {
      std::printf("not run here: %s\n", std::string(whyUnusable(isa)).c_str());
      continue;
    }
    RigOptions options = plain();
    options.isa = isa;
    Rig rig(path(), options);
    EXPECT_EQ(rig.feedFresh(prompt(), 512), plainRun()) << nameOf(isa);
    EXPECT_NE(rig.feedFresh(otherPrompt(), 512), plainRun()) << nameOf(isa);
  }
}

TEST_P(Invariance, OtherSequencesInTheForwardDoNotMatter) {
  Rig rig(path(), plain());
  const std::vector<TokenId> ids = prompt(), other = otherPrompt();
  const SequenceId a = rig.decoder->open().value(), b = rig.decoder->open().value(), c = rig.decoder->open().value();
  // `a` has a head start, then rows of all three are mixed in one forward.
  const std::size_t start = ids.size() / 3;
  Logits got = rig.feed(a, std::span(ids).first(start), 512);
  Logits got_other;
  std::size_t at_a = start, at_b = 0, at_c = 0;
  while (at_a < ids.size()) {
    std::vector<ForwardRow> rows;
    std::vector<int> of_a, of_b;
    const auto add = [&](SequenceId sequence, std::size_t& at, const std::vector<TokenId>& from, std::size_t count) {
      for (; count > 0 && at < from.size(); --count, ++at) rows.push_back({sequence, int(at), from[at], sequence != c, false});
    };
    add(b, at_b, other, 20);
    add(a, at_a, ids, 11);
    add(c, at_c, ids, 3);
    add(b, at_b, other, 5);
    const Result<ForwardOutput> out = rig.decoder->forward(rows, nullptr);
    ASSERT_TRUE(out.ok()) << out.error().what;
    int wanted = 0;
    for (const ForwardRow& row : rows) {
      if (!row.wants_logits) continue;
      const std::span<float> logits = out.value().logits.row(wanted++);
      (row.sequence == a ? got : got_other).emplace_back(logits.begin(), logits.end());
    }
    EXPECT_EQ(wanted, out.value().logits.rows);
  }
  EXPECT_EQ(got, plainRun());
  got_other.resize(std::min(got_other.size(), plainRun().size()));
  EXPECT_NE(got_other, Logits(plainRun().begin(), plainRun().begin() + std::ptrdiff_t(got_other.size())));
}

TEST_P(Invariance, WhatWasRolledBackDoesNotMatter) {
  Rig rig(path(), plain());
  const std::vector<TokenId> ids = prompt(), other = otherPrompt();
  const SequenceId sequence = rig.decoder->open().value();
  Logits got = rig.feed(sequence, std::span(ids).first(ids.size() / 2), 512);
  rig.feed(sequence, other, 50);
  rig.decoder->rollback(sequence, int(ids.size() / 2));
  for (const auto& row : rig.feed(sequence, std::span(ids).subspan(ids.size() / 2), 512)) got.push_back(row);
  EXPECT_EQ(got, plainRun());
}

INSTANTIATE_TEST_SUITE_P(Models, Invariance,
                         testing::Values(Case{"nano-gs64", false, 2, RowFormat::Bf16, 160}, Case{"nano-gs64", false, 1, RowFormat::Bf16, 160},
                                         Case{"nano-gs64", true, 2, RowFormat::F32, 100}, Case{"glm", false, 2, RowFormat::Bf16, 80},
                                         Case{"coli-mixed", false, 2, RowFormat::F32, 80}, Case{"glm-fp8", true, 2, RowFormat::F32, 80}),
                         nameOfCase);

}  // namespace
}  // namespace sluice
