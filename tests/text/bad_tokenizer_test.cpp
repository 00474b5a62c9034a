// Goal:   a broken tokenizer.json is refused in a sentence with file, place and fault; it never costs a crash, a hang or memory.
// Method: files with one fault each; one valid file cut at every length and with every byte changed.

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "core/base/file.h"
#include "core/text/tokenizer.h"
#include "tests/text/golden_rows.h"

namespace sluice {
namespace {

std::filesystem::path badFile(const std::string& name) { return goldenTokenizers() / "tiny" / "bad" / (name + ".json"); }

struct Fault {
  const char* name;
  const char* place;  // both must be in the sentence
  const char* fault;
};

TEST(BadTokenizer, IsRefusedWithFilePlaceAndFault) {
  const Fault faults[] = {
      {"merge-unknown-token", "model.merges[3]", "'zq'"},
      {"merge-result-missing", "model.merges[", "'ZQ'"},
      {"merge-three-parts", "model.merges[5]", "3 parts"},
      {"merge-no-space", "model.merges[7]", "'ab'"},
      {"duplicate-ids", "model.vocab['A']", "64"},
      {"duplicate-token", "model.vocab['F']", "twice"},
      {"id-hole", "model.vocab[", "5000"},
      {"id-huge", "model.vocab[", "4000000000"},
      {"id-negative", "model.vocab[", "-1 is negative"},
      {"id-fraction", "model.vocab[", "fraction"},
      {"id-string", "model.vocab[", "a string where an id"},
      {"added-id-taken", "added_tokens[1].id", "42"},
      {"added-id-twice", "added_tokens[1].id", "'<|endoftext|>'"},
      {"added-empty", "added_tokens[", "without content"},
      {"added-content-twice", "added_tokens[", "twice"},
      {"missing-byte", "model.vocab", "0x0A"},
      {"pretokenizer-metaspace", "pre_tokenizer", "'Metaspace'"},
      {"pretokenizer-unknown", "pre_tokenizer", "'FutureSplit'"},
      {"pretokenizer-null", "'pre_tokenizer'", "missing"},
      {"split-behaviour-unknown", "pre_tokenizer.pretokenizers[0].behavior", "'MergedWithBoth'"},
      {"regex-broken", "pre_tokenizer.pretokenizers[0].pattern.Regex", "never closed"},
      {"regex-class-intersection", "pre_tokenizer.pretokenizers[0].pattern.Regex", "&&"},
      {"regex-unknown-property", "pre_tokenizer.pretokenizers[0].pattern.Regex", "'Klingon'"},
      {"normalizer-precompiled", "normalizer", "'Precompiled'"},
      {"normalizer-unknown", "normalizer", "'NFX'"},
      {"model-wordpiece", "model.type", "'WordPiece'"},
      {"byte-fallback", "model", "byte_fallback"},
      {"no-vocab", "model", "'vocab' is missing"},
      {"no-model", "no-model.json", "'model' is missing"},
      {"invalid-utf8", "line 1, column", "not UTF-8"},
      {"lone-surrogate", "", ""},
      {"truncated", "byte 2047 of 2047", "not a JSON text"},
      {"empty", "byte 0", "empty"},
      {"not-json", "line 1, column", "not a JSON text"},
      {"array", "byte 0", "an array where an object"},
      {"trailing", "line 1, column", "not a JSON text"},
      {"deep", "line 1, column", "deeper than 64"},
  };
  std::size_t files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(goldenTokenizers() / "tiny" / "bad")) files += entry.path().extension() == ".json";
  EXPECT_EQ(files, std::size(faults) + 3) << "every file of the folder is tried here or loads";
  for (const Fault& f : faults) {
    const auto tokenizer = Tokenizer::load(badFile(f.name));
    ASSERT_FALSE(tokenizer.ok()) << f.name;
    const std::string& what = tokenizer.error().what;
    EXPECT_TRUE(tokenizer.error().code == Errc::Corrupt || tokenizer.error().code == Errc::Unsupported) << what;
    EXPECT_NE(what.find(std::string(f.name) + ".json: "), std::string::npos) << what;
    EXPECT_NE(what.find(f.place), std::string::npos) << f.name << ": " << what;
    EXPECT_NE(what.find(f.fault), std::string::npos) << f.name << ": " << what;
  }
}

TEST(BadTokenizer, LoadsWhatIsOnlyUnusual) {
  const auto valid = Tokenizer::load(badFile("_valid"));
  ASSERT_TRUE(valid.ok()) << valid.error().what;
  EXPECT_TRUE(valid.value().warnings().empty());
  const auto dropout = Tokenizer::load(badFile("dropout"));
  ASSERT_TRUE(dropout.ok()) << dropout.error().what;
  ASSERT_EQ(dropout.value().warnings().size(), 1u);
  EXPECT_NE(dropout.value().warnings()[0].find("dropout 0.5 is ignored"), std::string::npos) << dropout.value().warnings()[0];
}

TEST(BadTokenizer, MustFitTheModelsVocabulary_AndMayBeSmaller) {
  const auto alone = Tokenizer::load(badFile("larger-than-config"));
  ASSERT_TRUE(alone.ok()) << alone.error().what;
  const int size = alone.value().size();
  EXPECT_FALSE(Tokenizer::load(badFile("larger-than-config"), 290).ok());
  const auto refused = Tokenizer::load(badFile("larger-than-config"), size - 1);
  ASSERT_FALSE(refused.ok());
  EXPECT_NE(refused.error().what.find("vocabulary of " + std::to_string(size - 1)), std::string::npos) << refused.error().what;
  EXPECT_TRUE(Tokenizer::load(badFile("larger-than-config"), size).ok());
  EXPECT_TRUE(Tokenizer::load(badFile("larger-than-config"), size + 1000).ok()) << "padded embeddings";
}

TEST(BadTokenizer, ThatIsMissingIsNotFound) {
  const auto missing = Tokenizer::load(badFile("there-is-no-such-file"));
  ASSERT_FALSE(missing.ok());
  EXPECT_EQ(missing.error().code, Errc::NotFound);
}

TEST(BadTokenizer, CutAtEveryLengthIsRefused) {
  const auto text = readWholeFile(badFile("_valid"), 1_MiB);
  ASSERT_TRUE(text.ok()) << text.error().what;
  for (std::size_t length = 0; length < text.value().size(); ++length)
    EXPECT_FALSE(Tokenizer::parse(std::string_view(text.value()).substr(0, length), "cut", 0).ok()) << length;
}

TEST(BadTokenizer, WithAnyByteChangedLoadsOrSaysWhy) {
  const auto text = readWholeFile(badFile("_valid"), 1_MiB);
  ASSERT_TRUE(text.ok()) << text.error().what;
  std::size_t refused = 0;
  for (std::size_t at = 0; at < text.value().size(); ++at)
    for (const char c : {'\0', '"', '9', '\xFF'}) {
      std::string changed = text.value();
      changed[at] = c;
      const auto tokenizer = Tokenizer::parse(changed, "changed", 0);
      if (!tokenizer.ok()) {
        ++refused;
        EXPECT_TRUE(tokenizer.error().what.starts_with("changed: ")) << tokenizer.error().what;
        continue;
      }
      EXPECT_TRUE(tokenizer.value().encode("It's 1234 <|user|>\n\n caf\xC3\xA9", true).ok());
    }
  EXPECT_GE(refused, text.value().size());
}

}  // namespace
}  // namespace sluice
