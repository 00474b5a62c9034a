// Goal:   loops are caught soon after they can be told from text, and text is never called a loop.
// Method: two corpora of ours (tests/corpus), tokenised with the bundled model's tokenizer. "Detectable" is: 4 whole copies that cover 48 ids of a thought or
//         256 of an answer; for templates that drift, 512 stale ids; for a list that counts on, that and the grace it is given.

#include "core/run/loop_guard.h"

#include <gtest/gtest.h>

#include <fstream>

#include <nlohmann/json.hpp>

#include "core/run/token_classes.h"
#include "core/text/tokenizer.h"

namespace sluice {
namespace {

using Json = nlohmann::json;

const Tokenizer& tokenizer() {
  static const Tokenizer t = Tokenizer::load(SLUICE_TEST_DATA "/models/nano-gs64/tokenizer.json").value();
  return t;
}

std::vector<Json> corpus(const char* name) {
  std::ifstream file(std::string(SLUICE_TEST_DATA "/corpus/") + name);
  std::vector<Json> rows;
  for (std::string line; std::getline(file, line);) rows.push_back(Json::parse(line));
  return rows;
}

struct Alarm {
  int at = -1;  // index of the id that raised it
  LoopVerdict verdict;
};

Alarm firstAlarm(const std::vector<TokenId>& ids, const LoopThresholds& thresholds) {
  static const TokenClasses classes(tokenizer());
  LoopGuard guard(thresholds);
  for (std::size_t i = 0; i < ids.size(); ++i) {
    const ClassifiedToken token = classes.at(ids[i]);
    if (const LoopVerdict verdict = guard.push(ids[i], token.token_class, token.number)) return {int(i), verdict};
  }
  return {};
}

std::vector<TokenId> encode(const std::string& text) { return tokenizer().encode(text, false).value(); }
const LoopThresholds& thresholdsOf(const Json& row) { return row["region"] == "reasoning" ? kReasoningThresholds : kContentThresholds; }

TEST(LoopGuard, CatchesEveryLoopOfTheCorpus_SoonAfterItCanBeSeen) {
  const std::vector<Json> rows = corpus("loops.jsonl");
  ASSERT_GE(rows.size(), 60u);
  for (const Json& row : rows) {
    const std::string text = row["text"];
    const std::size_t start = row["start"], unit_bytes = row["unit"];
    const int begin = int(encode(text.substr(0, start)).size());
    const int unit = int(encode(text.substr(start, unit_bytes)).size());
    const LoopThresholds& limits = thresholdsOf(row);
    int latest = 0;
    if (row["kind"] == "cycle") {
      latest = begin + std::max(4 * unit, limits.cycle_covered_min) + 2 * unit + 8;  // 8: tokens that straddle the seams
    } else {
      latest = begin + LoopGuard::kNoveltyWindow + limits.stale_min + 512 + (row["kind"] == "counter" ? limits.counter_grace : 0);
    }
    const std::vector<TokenId> ids = encode(text);
    ASSERT_GT(int(ids.size()), latest) << row["name"] << ": too short to tell";
    const Alarm alarm = firstAlarm(ids, limits);
    EXPECT_GE(alarm.at, 0) << row["name"] << " passed unseen";
    EXPECT_LE(alarm.at, latest) << row["name"];
    if (row["kind"] == "cycle" && alarm.verdict.kind == LoopKind::Cycle) { EXPECT_GE(alarm.verdict.copies, 4) << row["name"]; }
  }
}

TEST(LoopGuard, NeverCallsHonestTextALoop) {
  const std::vector<Json> rows = corpus("must_pass.jsonl");
  ASSERT_GE(rows.size(), 120u);
  for (const Json& row : rows) {
    const Alarm alarm = firstAlarm(encode(row["text"]), thresholdsOf(row));
    EXPECT_LT(alarm.at, 0) << row["name"] << ": kind " << int(alarm.verdict.kind) << ", period " << alarm.verdict.period << ", novelty " << alarm.verdict.novelty;
  }
}

// Negative control of the corpus that must pass: said over and over, its texts are loops.
TEST(LoopGuard, CallsHonestTextALoop_OnceItIsSaidOverAndOver) {
  for (const Json& row : corpus("must_pass.jsonl")) {
    const std::vector<TokenId> once = encode(row["text"].get<std::string>() + "\n");
    if (once.size() > std::size_t(LoopGuard::kPeriodMax) || once.size() < 64) continue;
    std::vector<TokenId> ids;
    for (int copy = 0; copy < 6; ++copy) ids.insert(ids.end(), once.begin(), once.end());
    EXPECT_GE(firstAlarm(ids, thresholdsOf(row)).at, 0) << row["name"];
  }
}

TEST(LoopGuard, FindsThePrimitiveUnit_AtEveryPeriod) {
  for (const int period : {1, 2, 3, 7, 64, 255, 600, 1023, 1024}) {
    std::vector<TokenId> ids;
    for (int i = 0; i < 300; ++i) ids.emplace_back(std::uint32_t(100000 + i));
    const int begin = int(ids.size());
    for (int i = 0; i < 5 * period + 300; ++i) ids.emplace_back(std::uint32_t(i % period));
    const Alarm alarm = firstAlarm(ids, kContentThresholds);
    ASSERT_GE(alarm.at, 0) << period;
    EXPECT_EQ(alarm.verdict.period, period);
    EXPECT_EQ(alarm.verdict.start, begin);
    EXPECT_EQ(alarm.at, begin + std::max(4 * period, kContentThresholds.cycle_covered_min) - 1) << period;
  }
}

TEST(LoopGuard, IsAFold_ResetAndReplayedItSaysTheSame) {
  const std::vector<TokenId> ids = encode(corpus("loops.jsonl")[0]["text"]);
  LoopGuard guard(kContentThresholds);
  const auto run = [&] {
    guard.reset(kContentThresholds);
    for (std::size_t i = 0; i < ids.size(); ++i)
      if (guard.push(ids[i], TokenClass::Word, -1)) return int(i);
    return -1;
  };
  const int first = run();
  EXPECT_GE(first, 0);
  EXPECT_EQ(run(), first);
}

TEST(TokenClasses, TellNumbersWordsBlanksAndPunctuation) {
  EXPECT_EQ(classifyToken(" 42").token_class, TokenClass::Number);
  EXPECT_EQ(classifyToken(" 42").number, 42);
  EXPECT_EQ(classifyToken("1234567890").number, -1);
  EXPECT_EQ(classifyToken(" a1").token_class, TokenClass::Word);
  EXPECT_EQ(classifyToken("\xc3").token_class, TokenClass::Word);
  EXPECT_EQ(classifyToken("  ").token_class, TokenClass::Space);
  EXPECT_EQ(classifyToken(" \n").token_class, TokenClass::Line);
  EXPECT_EQ(classifyToken("),").token_class, TokenClass::Punctuation);
}

}  // namespace
}  // namespace sluice
