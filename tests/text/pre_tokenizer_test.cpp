// Goal:   the pieces that the reference's pre-tokenizers make, for every kind of step and many patterns.
// Method: rows of the reference: 588 pre-tokenizers (patterns x behaviours x invert, and the other types) on random text; the `pieces` of the
//         tokenizers' goldens.

#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "core/base/file.h"
#include "core/text/byte_alphabet.h"
#include "core/text/json_document.h"
#include "core/text/nfc.h"
#include "core/text/pre_tokenizer.h"
#include "tests/text/golden_rows.h"

namespace sluice {
namespace {

std::string nfcOf(const std::string& text) {
  AuthoredRuns runs, out_runs;
  runs.append(text.size(), false);
  std::string out;
  appendNfc(text, runs, 0, text.size(), out, out_runs);
  return out;
}

std::vector<std::string> piecesOf(const PreTokenizer& pre_tokenizer, const std::string& text) {
  PreTokenizer::Scratch scratch;
  std::vector<std::string_view> views;
  const auto done = pre_tokenizer.split(text, scratch, views);
  if (!done.ok()) return {"refused: " + done.error().what};
  return {views.begin(), views.end()};
}

std::string spelled(const std::vector<std::string>& pieces) {
  std::string out;
  for (const std::string& piece : pieces) {
    spell(piece, out);
    out += ' ';
  }
  return out;
}

TEST(PreTokenizer, CutsAsTheReferenceDoes_WithEveryBehaviour) {
  const auto rows = goldenRows(goldenTokenizers() / "pre_tokenizers.jsonl");
  ASSERT_GE(rows.size(), 1700u);
  std::size_t differ_uncut = 0;
  for (const auto& row : rows) {
    const std::string json = row.at("pre_tokenizer").dump();
    SCOPED_TRACE(json + " on " + row.at("text").dump(-1, ' ', true));
    const auto document = JsonDocument::parse(json, "row");
    ASSERT_TRUE(document.ok()) << document.error().what;
    const auto pre_tokenizer = PreTokenizer::read(document.value().root());
    ASSERT_TRUE(pre_tokenizer.ok()) << pre_tokenizer.error().what;
    std::string text = row.at("text").get<std::string>();
    if (row.at("nfc").get<bool>()) text = nfcOf(text);
    std::string want;
    for (const auto& piece : row.at("pieces")) want += piece.get<std::string>() + " ";
    EXPECT_EQ(spelled(piecesOf(pre_tokenizer.value(), text)), want);
    differ_uncut += spelled({text}) != want;
  }
  EXPECT_GE(differ_uncut, rows.size() / 2) << "negative control: not cutting at all must fail most rows";
}

class GoldenPieces : public testing::TestWithParam<std::string> {};

TEST_P(GoldenPieces, EqualTheReferences) {
  const auto json = readWholeFile(tokenizerFile(GetParam()), 64_MiB);
  ASSERT_TRUE(json.ok()) << json.error().what;
  const auto document = JsonDocument::parse(json.value(), GetParam());
  ASSERT_TRUE(document.ok()) << document.error().what;
  const auto node = document.value().root().member("pre_tokenizer");
  ASSERT_TRUE(node.ok()) << node.error().what;
  const auto pre_tokenizer = PreTokenizer::read(node.value());
  ASSERT_TRUE(pre_tokenizer.ok()) << pre_tokenizer.error().what;
  const auto normalizer = document.value().root().optional("normalizer");
  ASSERT_TRUE(normalizer.ok());
  const bool nfc = normalizer.value().has_value() && normalizer.value()->type().value() == "NFC";
  std::size_t rows = 0;
  for (const auto& row : goldenRows(goldenTokenizers() / (GetParam() + ".jsonl"))) {
    if (!row.contains("pieces")) continue;
    ++rows;
    std::string text = row.at("text").get<std::string>();
    if (nfc) text = nfcOf(text);
    EXPECT_EQ(piecesOf(pre_tokenizer.value(), text), row.at("pieces").get<std::vector<std::string>>()) << row.at("text").dump(-1, ' ', true);
  }
  EXPECT_GE(rows, 160u);
}

INSTANTIATE_TEST_SUITE_P(Ours, GoldenPieces,
                         testing::Values("nano", "tiny/deepseek3", "tiny/flags", "tiny/glm", "tiny/laguna", "tiny/llama3", "tiny/llama3-merges-pairs", "tiny/neox",
                                         "tiny/o200k", "tiny/qwen2", "tiny/qwen35", "tiny/removed-invert"));

// A Split with `pattern` before ByteLevel.
Result<PreTokenizer> splitBy(const std::string& pattern) {
  const nlohmann::json json = {
      {"type", "Sequence"},
      {"pretokenizers",
       {{{"type", "Split"}, {"pattern", {{"Regex", pattern}}}, {"behavior", "Isolated"}}, {{"type", "ByteLevel"}, {"add_prefix_space", false}, {"use_regex", false}}}}};
  const auto document = JsonDocument::parse(json.dump(), "made");
  if (!document.ok()) return document.error();
  return PreTokenizer::read(document.value().root());
}

TEST(PreTokenizer, RefusesByNameWhatPcre2WouldReadOtherwise) {
  const std::pair<const char*, const char*> patterns[] = {
      {R"([\p{L}&&[^\p{Han}]]+)", "&&"},
      {R"([a[bc]])", "class inside a class"},
      {R"([[:alpha:]]+)", "POSIX class"},
      {R"(\p{Klingon})", "'Klingon'"},
      {R"((a)\1)", "\\1"},
      {R"((?<n>a)\k<n>)", "named group"},
      {R"(a\K)", "\\K"},
      {R"(\X)", "\\X"},
      {R"(\Qa\E)", "\\Q"},
      {R"((*NO_JIT)a)", "callout"},
      {R"((?x: a))", "option 'x'"},
      {R"((?(1)a))", "conditional"},
      {R"((?~ab))", "absent"},
      {R"((?#c)a)", "comment"},
      {R"(\xE3)", "raw byte"},
      {R"(\p{L)", "without {name}"},
      {R"(a)b)", "closes nothing"},
      {R"((a)", "never closed"},
      {R"([a)", "never closed"},
      {R"([])", "empty character class"},
      {R"(*a)", "nothing to repeat"},
      {R"(a**)", "nothing to repeat"},
      {R"(a\)", "at the end"},
      {R"(\x{110000})", "names no character"},
      {R"((?<=a+)b)", "does not compile"},
      {R"(((\p{L}{1,9999}){1,9999}){1,9999})", "does not compile"},
  };
  for (const auto& [pattern, fault] : patterns) {
    const auto refused = splitBy(pattern);
    ASSERT_FALSE(refused.ok()) << pattern;
    EXPECT_NE(refused.error().what.find(fault), std::string::npos) << pattern << ": " << refused.error().what;
    EXPECT_NE(refused.error().what.find("pretokenizers[0].pattern.Regex"), std::string::npos) << refused.error().what;
  }
  EXPECT_FALSE(splitBy(std::string(200, '(') + std::string(200, ')')).ok());
  EXPECT_TRUE(splitBy(R"([a&]+|\p{L})").ok());
}

TEST(PreTokenizer, GivesUpOnPatternsThatWouldRunForever_WithASentence) {
  for (const char* pattern : {R"((a*)*b)", R"((?:a|aa)+$)", R"((?:(?:a+)+)+b)"}) {
    const auto pre_tokenizer = splitBy(pattern);
    ASSERT_TRUE(pre_tokenizer.ok()) << pre_tokenizer.error().what;
    PreTokenizer::Scratch scratch;
    std::vector<std::string_view> pieces;
    const std::string text = std::string(300, 'a') + "c";
    const auto done = pre_tokenizer.value().split(text, scratch, pieces);
    if (done.ok()) continue;  // PCRE2 may see through it
    EXPECT_EQ(done.error().code, Errc::BadRequest);
    EXPECT_NE(done.error().what.find("gave up"), std::string::npos) << done.error().what;
  }
}

}  // namespace
}  // namespace sluice
