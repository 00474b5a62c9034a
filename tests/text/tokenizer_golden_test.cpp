// Goal:   the ids that the reference tokenizer gives, for every structure and every vendor's real file.
// Method: rows written by the reference (tests/golden/tokenizers/README.md), compared id by id; each comparison is shown to notice a change.

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "core/text/detokenizer.h"
#include "core/text/tokenizer.h"
#include "tests/text/golden_rows.h"

namespace sluice {
namespace {

// The text that `ids` stand for.
std::string decoded(const Tokenizer& tokenizer, const std::vector<TokenId>& ids) {
  Detokenizer detokenizer(tokenizer);
  std::string out;
  for (const TokenId id : ids) detokenizer.push(id, out);
  detokenizer.flush(out);
  return out;
}

class TokenizerGolden : public testing::TestWithParam<std::string> {};

TEST_P(TokenizerGolden, GivesTheReferencesIds_AndTheirText) {
  const auto tokenizer = goldenTokenizer(GetParam());
  ASSERT_TRUE(tokenizer.ok()) << tokenizer.error().what;
  const auto rows = goldenRows(goldenTokenizers() / (GetParam() + ".jsonl"));
  ASSERT_GE(rows.size(), 200u);
  std::size_t as_text = 0;
  for (const auto& row : rows) {
    const auto text = row.at("text").get<std::string>();
    const bool special = row.at("special").get<bool>();
    SCOPED_TRACE(row.at("tag").get<std::string>() + ": " + row.at("text").dump(-1, ' ', true).substr(0, 200));
    const auto ids = tokenizer.value().encode(text, true, special);
    ASSERT_TRUE(ids.ok()) << ids.error().what;
    EXPECT_EQ(shown(ids.value()), shown(idsOf(row.at("ids"))));
    if (!special) { EXPECT_EQ(decoded(tokenizer.value(), ids.value()), row.value("decoded", text)); }
    // A client's text: the same ids unless the row says otherwise.
    const auto plain = tokenizer.value().encode(text, false);
    ASSERT_TRUE(plain.ok()) << plain.error().what;
    if (row.contains("ids_as_text")) {
      ++as_text;
      EXPECT_EQ(shown(plain.value()), shown(idsOf(row.at("ids_as_text"))));
    } else if (!special) {
      EXPECT_EQ(shown(plain.value()), shown(idsOf(row.at("ids"))));
    }
  }
  EXPECT_GE(as_text, 39u);
}

std::string nameOf(const testing::TestParamInfo<std::string>& tested) {
  std::string name = tested.param;
  for (char& c : name)
    if (c == '/' || c == '-') c = '_';
  return name;
}

INSTANTIATE_TEST_SUITE_P(Ours, TokenizerGolden,
                         testing::Values("nano", "tiny/deepseek3", "tiny/flags", "tiny/glm", "tiny/laguna", "tiny/llama3", "tiny/llama3-merges-pairs", "tiny/neox",
                                         "tiny/o200k", "tiny/qwen2", "tiny/qwen35", "tiny/removed-invert"),
                         nameOf);
INSTANTIATE_TEST_SUITE_P(Vendors, TokenizerGolden, testing::Values("qwen3", "deepseek_v3", "deepseek_v4", "llama3", "gptoss", "olmoe", "olmo2"), nameOf);

}  // namespace
}  // namespace sluice
