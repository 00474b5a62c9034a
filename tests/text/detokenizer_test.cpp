// Goal:   text as soon as it is sure, never half a character.
// Method: sequences of ids with what may be said after each, by WHATWG's rule; cut at every byte as well.

#include <string>
#include <unordered_map>

#include <gtest/gtest.h>

#include "core/text/detokenizer.h"
#include "core/text/tokenizer.h"
#include "tests/text/golden_rows.h"

namespace sluice {
namespace {

class DetokenizerGolden : public testing::TestWithParam<std::string> {};

TEST_P(DetokenizerGolden, SaysAfterEachIdWhatIsSure) {
  const auto tokenizer = goldenTokenizer(GetParam());
  ASSERT_TRUE(tokenizer.ok()) << tokenizer.error().what;
  std::size_t rows_seen = 0;
  for (const auto& row : goldenRows(goldenTokenizers() / "detokenize.jsonl")) {
    if (row.at("tokenizer") != GetParam()) continue;
    ++rows_seen;
    SCOPED_TRACE(row.at("tag").get<std::string>() + " " + row.at("ids").dump());
    const auto ids = idsOf(row.at("ids"));
    Detokenizer by_id(tokenizer.value()), by_byte(tokenizer.value());
    std::string all, bytewise;
    for (std::size_t i = 0; i < ids.size(); ++i) {
      std::string said;
      by_id.push(ids[i], said);
      EXPECT_EQ(said, row.at("steps").at(i).get<std::string>()) << "after id " << i;
      all += said;
      for (const char c : tokenizer.value().bytesOf(ids[i])) by_byte.pushBytes(std::string_view(&c, 1), bytewise);
    }
    std::string end;
    by_id.flush(end);
    by_byte.flush(bytewise);
    EXPECT_EQ(end, row.at("flush").get<std::string>());
    EXPECT_EQ(all + end, row.at("text").get<std::string>());
    EXPECT_EQ(bytewise, row.at("text").get<std::string>()) << "byte by byte";
    // After flush nothing of the past is left.
    std::string fresh;
    by_id.pushBytes("\x80z", fresh);
    EXPECT_EQ(fresh, "\xEF\xBF\xBDz");
  }
  EXPECT_GE(rows_seen, 32u);
}

INSTANTIATE_TEST_SUITE_P(Ours, DetokenizerGolden, testing::Values("nano", "tiny/glm", "tiny/deepseek3", "tiny/neox"), [](const auto& tested) {
  return tested.param.starts_with("tiny/") ? tested.param.substr(5) : tested.param;
});
INSTANTIATE_TEST_SUITE_P(Vendors, DetokenizerGolden, testing::Values("qwen3", "gptoss", "deepseek_v3"), [](const auto& tested) { return tested.param; });

TEST(Detokenizer, NoticesOneOtherId_AsANegativeControl) {
  const auto tokenizer = goldenTokenizer("nano");
  ASSERT_TRUE(tokenizer.ok()) << tokenizer.error().what;
  std::size_t differ = 0, rows = 0;
  for (const auto& row : goldenRows(goldenTokenizers() / "detokenize.jsonl")) {
    if (row.at("tokenizer") != "nano" || row.at("ids").empty()) continue;
    ++rows;
    auto ids = idsOf(row.at("ids"));
    ids.front() = TokenId(ids.front().value() == 41 ? 42 : 41);
    Detokenizer detokenizer(tokenizer.value());
    std::string text;
    for (const TokenId id : ids) detokenizer.push(id, text);
    detokenizer.flush(text);
    differ += text != row.at("text").get<std::string>();
  }
  EXPECT_EQ(differ, rows);
}

TEST(Detokenizer, IsAValue_ItsCopyGoesItsOwnWay) {
  const auto tokenizer = goldenTokenizer("nano");
  ASSERT_TRUE(tokenizer.ok()) << tokenizer.error().what;
  Detokenizer one(tokenizer.value());
  std::string out;
  one.pushBytes("\xF0\x9F\x98", out);
  Detokenizer other = one;
  std::string whole, broken;
  one.pushBytes("\x80", whole);
  other.pushBytes("a", broken);
  EXPECT_EQ(out, "");
  EXPECT_EQ(whole, "\xF0\x9F\x98\x80");
  EXPECT_EQ(broken, "\xEF\xBF\xBD" "a");
}

}  // namespace
}  // namespace sluice
