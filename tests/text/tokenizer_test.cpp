// Goal:   the tokenizer's other promises: lookups, negative controls, speed that does not fall with a piece's length.
// Method: small tokenizers changed by one thing; long texts under a clock.

#include <algorithm>
#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "core/base/file.h"
#include "core/text/tokenizer.h"
#include "tests/text/golden_rows.h"

namespace sluice {
namespace {

nlohmann::ordered_json jsonOf(const std::string& name) {
  const auto text = readWholeFile(tokenizerFile(name), 64_MiB);
  EXPECT_TRUE(text.ok());
  return nlohmann::ordered_json::parse(text.value());
}

// How many rows of the golden `name` differ with the tokenizer that `json` describes.
std::size_t rowsThatDiffer(const std::string& name, const nlohmann::ordered_json& json) {
  const auto tokenizer = Tokenizer::parse(json.dump(), "changed");
  EXPECT_TRUE(tokenizer.ok()) << tokenizer.error().what;
  std::size_t differ = 0;
  for (const auto& row : goldenRows(goldenTokenizers() / (name + ".jsonl"))) {
    const auto ids = tokenizer.value().encode(row.at("text").get<std::string>(), true, row.at("special").get<bool>());
    differ += !ids.ok() || ids.value() != idsOf(row.at("ids"));
  }
  return differ;
}

TEST(Tokenizer, GoldensNoticeOneChange_AsNegativeControls) {
  const auto unchanged = jsonOf("nano");
  EXPECT_EQ(rowsThatDiffer("nano", unchanged), 0u);
  auto merges_swapped = unchanged;
  auto& merges = merges_swapped["model"]["merges"];
  // ("h", "e") and the first merge that wants that "e" for its left: "her" hangs on which comes first.
  const auto first = std::find(merges.begin(), merges.end(), nlohmann::ordered_json({"h", "e"}));
  const auto rival = std::find_if(merges.begin(), merges.end(), [](const auto& merge) { return merge[0] == "e"; });
  ASSERT_TRUE(first != merges.end() && rival != merges.end());
  std::swap(*first, *rival);
  EXPECT_GT(rowsThatDiffer("nano", merges_swapped), 0u);
  auto ids_swapped = unchanged;
  std::swap(ids_swapped["model"]["vocab"]["e"], ids_swapped["model"]["vocab"]["t"]);
  EXPECT_GT(rowsThatDiffer("nano", ids_swapped), 0u);
  auto nfc = unchanged;
  nfc["normalizer"] = {{"type", "NFC"}};
  EXPECT_GT(rowsThatDiffer("nano", nfc), 0u);
  auto no_nfc = jsonOf("tiny/qwen2");
  no_nfc["normalizer"] = nullptr;
  EXPECT_GT(rowsThatDiffer("tiny/qwen2", no_nfc), 0u);
  auto merged = jsonOf("tiny/glm");
  merged["model"]["ignore_merges"] = false;
  EXPECT_GT(rowsThatDiffer("tiny/glm", merged), 0u);
  for (const char* flag : {"lstrip", "rstrip", "single_word", "normalized"}) {
    auto flags = jsonOf("tiny/flags");
    for (auto& token : flags["added_tokens"]) token[flag] = false;
    EXPECT_GT(rowsThatDiffer("tiny/flags", flags), 0u) << flag;
  }
}

TEST(Tokenizer, EqualsTheReferenceOnRandomText) {
  std::string loaded;
  std::optional<Tokenizer> tokenizer;
  for (const auto& row : goldenRows(goldenTokenizers() / "differential.jsonl")) {
    const auto name = row.at("tokenizer").get<std::string>();
    if (name != loaded) {
      auto fresh = goldenTokenizer(name);
      ASSERT_TRUE(fresh.ok()) << fresh.error().what;
      tokenizer = std::move(fresh).value();
      loaded = name;
    }
    const auto ids = tokenizer->encode(row.at("text").get<std::string>(), true);
    ASSERT_TRUE(ids.ok()) << ids.error().what;
    EXPECT_EQ(shown(ids.value()), shown(idsOf(row.at("ids")))) << name << ": " << row.at("text").dump(-1, ' ', true);
  }
}

TEST(Tokenizer, TellsWhatAnIdIs) {
  const auto tokenizer = goldenTokenizer("nano");
  ASSERT_TRUE(tokenizer.ok()) << tokenizer.error().what;
  const Tokenizer& t = tokenizer.value();
  EXPECT_EQ(t.size(), 2048);
  EXPECT_EQ(t.find("<|user|>"), TokenId(2035));
  EXPECT_EQ(t.bytesOf(TokenId(2035)), "<|user|>");
  EXPECT_TRUE(t.isAdded(TokenId(2035)) && t.isSpecial(TokenId(2035)));
  EXPECT_EQ(t.find("<think>"), TokenId(2038));
  EXPECT_TRUE(t.isAdded(TokenId(2038)) && !t.isSpecial(TokenId(2038)));
  const auto space = t.find(" ");
  ASSERT_TRUE(space.has_value());
  EXPECT_EQ(t.bytesOf(*space), " ");
  EXPECT_FALSE(t.isAdded(*space) || t.isSpecial(*space));
  EXPECT_FALSE(t.find("<|user").has_value());
  EXPECT_FALSE(t.find("").has_value());
  for (const std::uint32_t beyond : {2048u, 4000000000u}) {
    EXPECT_EQ(t.bytesOf(TokenId(beyond)), "");
    EXPECT_FALSE(t.isAdded(TokenId(beyond)) || t.isSpecial(TokenId(beyond)));
  }
}

// A word of two letters that a merge makes.
std::string mergedWord(const nlohmann::ordered_json& json) {
  for (const auto& merge : json["model"]["merges"]) {
    const auto word = merge[0].get<std::string>() + merge[1].get<std::string>();
    if (word.size() == 2 && std::all_of(word.begin(), word.end(), [](char c) { return 'a' <= c && c <= 'z'; })) return word;
  }
  ADD_FAILURE() << "no such word";
  return "";
}

// An added token that the model has too: merges and whole words must not lead a client's text to it if it is special.
TEST(Tokenizer, TextNeverBecomesASpecialToken_EvenWhereTheModelHasItAsAWord) {
  for (const bool ignore_merges : {false, true}) {
    auto json = jsonOf("tiny/glm");
    json["model"]["ignore_merges"] = ignore_merges;
    const std::string word = mergedWord(json);
    const auto id = json["model"]["vocab"][word].get<std::uint32_t>();
    const auto before = Tokenizer::parse(json.dump(), "before");
    ASSERT_TRUE(before.ok()) << before.error().what;
    EXPECT_EQ(shown(before.value().encode(word, false).value()), std::to_string(id) + " ") << "otherwise this test says nothing";
    json["added_tokens"].push_back({{"id", id}, {"content", word}, {"single_word", false}, {"lstrip", false}, {"rstrip", false}, {"normalized", false}, {"special", true}});
    const auto after = Tokenizer::parse(json.dump(), "after");
    ASSERT_TRUE(after.ok()) << after.error().what;
    EXPECT_EQ(shown(after.value().encode(word, true).value()), std::to_string(id) + " ");
    for (const TokenId token : after.value().encode(word, false).value()) EXPECT_NE(token, TokenId(id));
  }
}

TEST(Tokenizer, RefusesASpecialTokenThatIsAByte) {
  auto json = jsonOf("tiny/glm");
  json["added_tokens"].push_back({{"id", json["model"]["vocab"]["q"]}, {"content", "q"}, {"special", true}});
  const auto refused = Tokenizer::parse(json.dump(), "byte");
  ASSERT_FALSE(refused.ok());
  EXPECT_NE(refused.error().what.find("'q'"), std::string::npos) << refused.error().what;
  json["added_tokens"].back()["special"] = false;
  EXPECT_TRUE(Tokenizer::parse(json.dump(), "byte").ok());
}

TEST(Tokenizer, TakesTheModelsIdOfAnAddedToken_AndWarns) {
  auto json = jsonOf("tiny/glm");
  const std::string word = mergedWord(json);
  const auto id = json["model"]["vocab"][word].get<std::uint32_t>();
  const auto free_id = json["model"]["vocab"].size() + json["added_tokens"].size();
  json["added_tokens"].push_back({{"id", free_id}, {"content", word}, {"special", false}});
  const auto tokenizer = Tokenizer::parse(json.dump(), "two ids");
  ASSERT_TRUE(tokenizer.ok()) << tokenizer.error().what;
  EXPECT_EQ(tokenizer.value().find(word), TokenId(id));
  ASSERT_EQ(tokenizer.value().warnings().size(), 1u);
  EXPECT_NE(tokenizer.value().warnings()[0].find("'" + word + "'"), std::string::npos) << tokenizer.value().warnings()[0];
}

// A merge by rescanning would take hours here, a recursive or quadratic split minutes. The bound is for a loaded machine under a sanitizer.
TEST(Tokenizer, TakesLongPiecesInAboutTheTimeOfShortOnes) {
  const std::size_t bytes = 1'000'000;
  for (const char* name : {"nano", "tiny/laguna", "tiny/o200k", "tiny/neox", "tiny/deepseek3", "tiny/qwen2"}) {
    const auto tokenizer = goldenTokenizer(name);
    ASSERT_TRUE(tokenizer.ok()) << tokenizer.error().what;
    for (const std::string unit : {"a", "A", " ", "\n", "\r\n", "1", "!", "'", "\xCC\x81", "\xE6\xBC\xA2", "\xC7\x85", "\xEA\xB0\x81", "\x7F"}) {
      std::string text;
      text.reserve(bytes + 4);
      while (text.size() < bytes) text += unit;
      const auto start = std::chrono::steady_clock::now();
      const auto ids = tokenizer.value().encode(text, false);
      const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
      ASSERT_TRUE(ids.ok()) << name << ": " << ids.error().what;
      EXPECT_LT(took.count(), 60) << name << " on " << nlohmann::json(unit).dump(-1, ' ', true);
      std::size_t back = 0;
      for (const TokenId id : ids.value()) back += tokenizer.value().bytesOf(id).size();
      if (unit != "\xCC\x81") { EXPECT_EQ(back, text.size()) << name; }
    }
  }
}

}  // namespace
}  // namespace sluice
