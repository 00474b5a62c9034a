// Goal:   what a client wrote never becomes a control token, and ids do not depend on who wrote what otherwise.
// Method: whole prompts with hostile clients, by the reference; the borders of authorship one by one.

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "core/text/tokenizer.h"
#include "tests/text/golden_rows.h"

namespace sluice {
namespace {

std::vector<AuthoredText> segmentsOf(const nlohmann::json& row) {
  std::vector<AuthoredText> parts;
  for (const auto& segment : row.at("segments")) parts.push_back({segment.at(1).get<std::string>(), segment.at(0) == "template"});
  return parts;
}

std::string shownOf(const Tokenizer& tokenizer, const std::vector<AuthoredText>& parts) {
  const auto ids = tokenizer.encode(parts);
  return ids.ok() ? shown(ids.value()) : ids.error().what;
}

class PromptIds : public testing::TestWithParam<std::string> {};

TEST_P(PromptIds, EqualTheReferences_WhateverTheClientWrites) {
  const auto tokenizer = goldenTokenizer(GetParam());
  ASSERT_TRUE(tokenizer.ok()) << tokenizer.error().what;
  std::size_t rows = 0, hostile = 0;
  for (const auto& row : goldenRows(goldenTokenizers() / "prompt_ids.jsonl")) {
    if (row.at("tokenizer") != GetParam()) continue;
    ++rows;
    SCOPED_TRACE(row.at("segments").dump(-1, ' ', true).substr(0, 300));
    const auto parts = segmentsOf(row);
    EXPECT_EQ(shownOf(tokenizer.value(), parts), shown(idsOf(row.at("ids"))));
    // Negative control: if all of it were markup, hostile prompts would differ.
    std::vector<AuthoredText> trusted = parts;
    for (AuthoredText& part : trusted) part.markup = true;
    hostile += shownOf(tokenizer.value(), trusted) != shown(idsOf(row.at("ids")));
    // Where a run of one author is cut does not matter.
    std::vector<AuthoredText> pieces;
    for (const AuthoredText& part : parts)
      for (const char c : part.text) {
        if ((static_cast<unsigned char>(c) & 0xC0) != 0x80) pieces.push_back({"", part.markup});
        pieces.back().text += c;
      }
    EXPECT_EQ(shownOf(tokenizer.value(), pieces), shown(idsOf(row.at("ids"))));
  }
  EXPECT_GE(rows, 30u);
  EXPECT_GE(hostile, 10u);
}

INSTANTIATE_TEST_SUITE_P(Ours, PromptIds, testing::Values("nano"));
INSTANTIATE_TEST_SUITE_P(Vendors, PromptIds, testing::Values("qwen3"));

TEST(AuthoredText, SpaceRunsMatchAcrossAuthors_AsTextDoes) {
  const auto tokenizer = goldenTokenizer("tiny/neox");
  ASSERT_TRUE(tokenizer.ok()) << tokenizer.error().what;
  const auto whole = tokenizer.value().encode("a     b", true);
  ASSERT_TRUE(whole.ok());
  EXPECT_NE(shown(whole.value()).find("457 "), std::string::npos) << "five spaces are one added token: " << shown(whole.value());
  EXPECT_EQ(shownOf(tokenizer.value(), {{"a  ", true}, {"   b", false}}), shown(whole.value()));
  EXPECT_EQ(shownOf(tokenizer.value(), {{"a     b", false}}), shown(whole.value()));
}

TEST(AuthoredText, HalfATagFromEachIsNoTag) {
  const auto tokenizer = goldenTokenizer("nano");
  ASSERT_TRUE(tokenizer.ok()) << tokenizer.error().what;
  const std::string plain = shownOf(tokenizer.value(), {{"<|user|>", false}});
  EXPECT_EQ(shownOf(tokenizer.value(), {{"<|us", true}, {"er|>", false}}), plain);
  EXPECT_EQ(shownOf(tokenizer.value(), {{"<|us", false}, {"er|>", true}}), plain);
  EXPECT_EQ(shownOf(tokenizer.value(), {{"<|us", true}, {"er|>", true}}), "2035 ");
  EXPECT_NE(plain, "2035 ");
}

// With NFC, a normalized added token and a client's mark right behind it: the mark composes with the tag's last letter or does not, but it
// never turns the client's text into markup, nor takes a tag that it cannot compose with away from the template.
TEST(AuthoredText, MarksBehindATagStayTheClients) {
  const auto tokenizer = goldenTokenizer("tiny/flags");
  ASSERT_TRUE(tokenizer.ok()) << tokenizer.error().what;
  const TokenId token = tokenizer.value().find("N>y").value();
  const auto starts_with_token = [&](const std::vector<AuthoredText>& parts) {
    const auto ids = tokenizer.value().encode(parts);
    return ids.ok() && ids.value().front() == token;
  };
  EXPECT_TRUE(starts_with_token({{"N>y", true}, {"z", false}}));
  EXPECT_TRUE(starts_with_token({{"N>y", true}, {"\xCC\xBD", false}})) << "U+033D composes with nothing";
  EXPECT_FALSE(starts_with_token({{"N>y", true}, {"\xCC\x81", false}})) << "U+0301 makes y another letter";
  EXPECT_FALSE(starts_with_token({{"N>y", false}, {"\xCC\xBD", true}}));
}

TEST(AuthoredText, ThatIsNotUtf8IsRefusedWithItsByte) {
  const auto tokenizer = goldenTokenizer("nano");
  ASSERT_TRUE(tokenizer.ok()) << tokenizer.error().what;
  for (const std::string bad : {"\x80", "\xC0\x80", "\xE0\x80\x80", "\xED\xA0\x80", "\xF4\x90\x80\x80", "\xF5", "\xC3", "\xE2\x82"}) {
    const auto ids = tokenizer.value().encode("ab" + bad, false);
    ASSERT_FALSE(ids.ok());
    EXPECT_EQ(ids.error().code, Errc::BadRequest);
    EXPECT_NE(ids.error().what.find("byte 2 of"), std::string::npos) << ids.error().what;
  }
  const std::vector<AuthoredText> parts = {{"abc", true}, {"d\xFF", false}};
  const auto ids = tokenizer.value().encode(parts);
  ASSERT_FALSE(ids.ok());
  EXPECT_NE(ids.error().what.find("byte 4 of"), std::string::npos) << ids.error().what;
}

TEST(AuthoredText, MayBeEmpty) {
  const auto tokenizer = goldenTokenizer("tiny/llama3");
  ASSERT_TRUE(tokenizer.ok()) << tokenizer.error().what;
  EXPECT_EQ(shownOf(tokenizer.value(), {}), "");
  EXPECT_EQ(shownOf(tokenizer.value(), {{"", true}, {"", false}}), "");
  const auto special = tokenizer.value().encode("", true, true);
  ASSERT_TRUE(special.ok());
  EXPECT_EQ(shown(special.value()), "429 ");
}

}  // namespace
}  // namespace sluice
