// Goal:   a stop string ends a text at the same place however the text is cut, nothing of it is shown, and nothing is held that cannot become one.
// Method: every cut of short texts into one, two and three pieces; the expected text is found by a plain search over the whole.

#include "core/run/stop_rules.h"

#include <gtest/gtest.h>

namespace sluice {
namespace {

struct Outcome {
  std::string shown, matched;
  bool operator==(const Outcome&) const = default;
};

Outcome feed(const std::vector<std::string>& stops, const std::vector<std::string>& pieces) {
  StopTexts texts(stops);
  Outcome outcome;
  for (const std::string& piece : pieces) {
    if (texts.push(piece, outcome.shown)) {
      outcome.matched = texts.matched();
      return outcome;
    }
  }
  texts.flush(outcome.shown);
  return outcome;
}

/// The first byte at which any stop is whole; of those, the longest.
Outcome search(const std::vector<std::string>& stops, const std::string& text) {
  for (std::size_t end = 1; end <= text.size(); ++end) {
    std::string longest;
    for (const std::string& stop : stops)
      if (text.substr(0, end).ends_with(stop) && stop.size() > longest.size()) longest = stop;
    if (!longest.empty()) return {text.substr(0, end - longest.size()), longest};
  }
  return {text, ""};
}

TEST(StopTexts, EndAtTheSamePlace_HoweverTheTextIsCut) {
  const std::vector<std::pair<std::vector<std::string>, std::string>> cases{
      {{"END"}, "one two END three"}, {{"aab"}, "aaaab!"},       {{"abcd", "bc"}, "xabcdx"}, {{"\n\n", "\nUser:"}, "hi\nUser: yes"},
      {{"END"}, "one EN two"},        {{"##", "###"}, "a ## b"}, {{"x"}, ""},                {{"\xc3\xa9"}, "caf\xc3\xa9 au lait"},
      {{"stop"}, "stop"},             {{"stop"}, "st"},
  };
  for (const auto& [stops, text] : cases) {
    const Outcome want = search(stops, text);
    EXPECT_EQ(feed(stops, {text}), want) << text;
    for (std::size_t a = 0; a <= text.size(); ++a) {
      for (std::size_t b = a; b <= text.size(); ++b) {
        EXPECT_EQ(feed(stops, {text.substr(0, a), text.substr(a, b - a), text.substr(b)}), want) << text << " cut at " << a << " and " << b;
      }
    }
  }
  // Negative control: another stop ends elsewhere.
  EXPECT_NE(feed({"two"}, {"one two END three"}), search({"END"}, "one two END three"));
}

TEST(StopTexts, HoldBackTheLongestSuffixThatMayBecomeOne_AndNoMore) {
  StopTexts texts({"<end>", "<eof>"});
  std::string shown;
  EXPECT_FALSE(texts.push("text <e", shown));
  EXPECT_EQ(shown, "text ");
  EXPECT_EQ(texts.held(), "<e");
  EXPECT_FALSE(texts.push("x", shown));
  EXPECT_EQ(shown, "text <ex");
  EXPECT_EQ(texts.held(), "");
  EXPECT_FALSE(texts.push("<<en", shown));
  EXPECT_EQ(shown, "text <ex<");
  EXPECT_TRUE(texts.push("d>rest", shown));
  EXPECT_EQ(shown, "text <ex<");
  EXPECT_EQ(texts.matched(), "<end>");
}

TEST(StopTexts, WithoutStringsNothingIsHeld) {
  StopTexts texts({});
  std::string shown;
  EXPECT_FALSE(texts.push("anything", shown));
  EXPECT_EQ(shown, "anything");
}

TEST(StopTexts, RefusesEmptyAndOversizedOnes) {
  EXPECT_EQ(checkStopTexts(std::vector<std::string>{""}).error().code, Errc::BadRequest);
  EXPECT_EQ(checkStopTexts(std::vector<std::string>(kStopTextsMax + 1, "x")).error().code, Errc::BadRequest);
  EXPECT_EQ(checkStopTexts(std::vector<std::string>{std::string(kStopTextBytesMax + 1, 'x')}).error().code, Errc::BadRequest);
  EXPECT_TRUE(checkStopTexts(std::vector<std::string>(kStopTextsMax, std::string(kStopTextBytesMax, 'x'))).ok());
}

TEST(StopIds, UnionIsSortedAndHasNoTwins) {
  const std::vector<TokenId> a{TokenId(5), TokenId(2)}, b{TokenId(2), TokenId(9)};
  EXPECT_EQ(unionOf(a, b), (std::vector<TokenId>{TokenId(2), TokenId(5), TokenId(9)}));
}

}  // namespace
}  // namespace sluice
