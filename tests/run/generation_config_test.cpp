// Goal: a model's generation_config.json is read as its makers meant it, and refused by name where it is wrong.

#include "core/run/generation_config.h"

#include <fstream>

#include <gtest/gtest.h>

#include "tests/support/temp_dir.h"

namespace sluice {
namespace {

Result<GenerationConfig> read(const std::string& json) {
  const TempDir dir;
  std::ofstream(dir.path() / "generation_config.json") << json;
  return readGenerationConfig(dir.path());
}

TEST(GenerationConfig, OfTheBundledModel) {
  const GenerationConfig config = readGenerationConfig(std::string(SLUICE_TEST_DATA) + "/models/nano-gs64").value();
  EXPECT_EQ(config.sampling.temperature, 1.0);
  EXPECT_EQ(config.sampling.top_p, 0.95);
  EXPECT_FALSE(config.sampling.top_k.has_value());
  EXPECT_EQ(config.stop_ids, (std::vector<TokenId>{TokenId(2028), TokenId(2035), TokenId(2037)}));
  EXPECT_TRUE(config.ignored.empty());
}

TEST(GenerationConfig, AbsentFileIsEmpty) {
  const TempDir dir;
  const GenerationConfig config = readGenerationConfig(dir.path()).value();
  EXPECT_FALSE(config.sampling.temperature.has_value());
  EXPECT_TRUE(config.stop_ids.empty());
}

TEST(GenerationConfig, DoSampleFalseIsGreedy) {
  EXPECT_EQ(read(R"({"do_sample": false, "temperature": 0.7})").value().sampling.temperature, 0.0);
  EXPECT_EQ(read(R"({"do_sample": true, "temperature": 0.7})").value().sampling.temperature, 0.7);
}

TEST(GenerationConfig, NamesWhatItDoesNotHonour) {
  const GenerationConfig config = read(R"({"repetition_penalty": 1.1, "num_beams": 1, "eos_token_id": 7})").value();
  ASSERT_EQ(config.ignored.size(), 1u);
  EXPECT_NE(config.ignored[0].find("repetition_penalty 1.1"), std::string::npos);
  EXPECT_EQ(config.stop_ids, std::vector<TokenId>{TokenId(7)});
}

TEST(GenerationConfig, RefusesWrongValuesByName) {
  for (const auto& [json, name] : std::vector<std::pair<std::string, std::string>>{
           {R"({"temperature": "hot"})", "temperature"}, {R"({"top_k": 1.5})", "top_k"},         {R"({"top_p": 7})", "top_p"},
           {R"({"eos_token_id": -3})", "eos_token_id"},  {R"({"eos_token_id": "x"})", "eos_token_id"}, {R"({"do_sample": 1})", "do_sample"},
           {"[1]", "object"},                            {"{", "generation_config.json"}}) {
    const Result<GenerationConfig> config = read(json);
    ASSERT_FALSE(config.ok()) << json;
    EXPECT_EQ(config.error().code, Errc::Corrupt);
    EXPECT_NE(config.error().what.find(name), std::string::npos) << config.error().what;
  }
}

}  // namespace
}  // namespace sluice
