// Goal:   a config is understood in all its published spellings, and no value that is out of range or changes the maths unhandled gets by.

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "core/model/glm_moe_dsa.h"
#include "tests/support/model_surgery.h"

namespace sluice {
namespace {

using Json = nlohmann::ordered_json;

Json glm() { return ModelSurgery("glm").config; }

Result<ModelConfig> read(const std::string& text, const std::string& generation = {}, std::vector<LayoutWarning>* warnings = nullptr) {
  std::vector<LayoutWarning> ignored;
  const JsonText config = TRY(JsonText::parse(text, 32, "config.json"));
  if (generation.empty()) return glmMoeDsaConfig(config, nullptr, warnings != nullptr ? *warnings : ignored);
  const JsonText second = TRY(JsonText::parse(generation, 32, "generation_config.json"));
  return glmMoeDsaConfig(config, &second, ignored);
}

TEST(ModelConfig, ReadsTheValuesOfAPublishedConfig) {
  const auto got = read(glm().dump());
  ASSERT_TRUE(got.ok()) << got.error().what;
  const ModelConfig& config = got.value();
  EXPECT_EQ(config.family, "glm_moe_dsa");
  EXPECT_EQ(config.vocabulary, 192);
  EXPECT_EQ(config.hidden, 72);
  EXPECT_EQ(config.context_max, 4096);
  EXPECT_EQ(config.rms_eps, 1e-5f);
  EXPECT_EQ(config.mla.heads, 4);
  EXPECT_EQ(config.mla.nope, 12);
  EXPECT_EQ(config.mla.rope, 8);
  EXPECT_EQ(config.mla.v, 20);
  EXPECT_EQ(config.mla.rope_theta, 8e6);
  EXPECT_EQ(config.mla.cachedWidth(), 32);
  EXPECT_EQ(config.indexer.top_k, 24);
  EXPECT_EQ(config.router.experts, 8);
  EXPECT_EQ(config.router.top_k, 3);
  EXPECT_TRUE(config.router.normalise);
  EXPECT_EQ(config.router.scale, 2.5f);
  EXPECT_EQ(config.dense_inter, 56);
  EXPECT_EQ(config.expert_inter, 24);
  EXPECT_EQ(config.shared_inter, 24);
  EXPECT_TRUE(config.has_mtp);
  ASSERT_EQ(config.layers.size(), 6u);
  EXPECT_EQ(config.layers[1].ffn, FfnKind::Dense);
  EXPECT_EQ(config.layers[2].ffn, FfnKind::Sparse);
  EXPECT_EQ(config.stop_ids, (std::vector<TokenId>{TokenId(3), TokenId(5)}));
}

/// "F" and "S" a layer.
std::string roles(const ModelConfig& config) {
  std::string out;
  for (const LayerConfig& layer : config.layers) out += layer.indexer == IndexerRole::Full ? 'F' : layer.indexer == IndexerRole::Shared ? 'S' : '-';
  return out;
}

TEST(ModelConfig, GivesTheListOfIndexersOrTheFormula) {
  Json config = glm();
  EXPECT_EQ(roles(read(config.dump()).value()), "FFSSFS");
  config.erase("indexer_types");  // frequency 3, offset 2: the formula gives the same list
  EXPECT_EQ(roles(read(config.dump()).value()), "FFSSFS");
  config["indexer_types"] = nullptr;
  EXPECT_EQ(roles(read(config.dump()).value()), "FFSSFS");
  config.erase("index_topk_freq");  // GLM-5: every layer
  EXPECT_EQ(roles(read(config.dump()).value()), "FFFFFF");
  config["index_topk_freq"] = 3;
  config.erase("index_skip_topk_offset");  // 2 by default
  EXPECT_EQ(roles(read(config.dump()).value()), "FFSSFS");
  config["index_topk_freq"] = 4;
  config["index_skip_topk_offset"] = 3;  // GLM-5.2: 0, 1, 2, then every fourth
  config["num_hidden_layers"] = 12;
  config.erase("mlp_layer_types");
  EXPECT_EQ(roles(read(config.dump()).value()), "FFFSSSFSSSFS");
  for (const char* key : {"index_topk", "index_n_heads", "index_head_dim"}) config.erase(key);
  EXPECT_EQ(roles(read(config.dump()).value()), "------------");
}

TEST(ModelConfig, TakesStopIdsOfBothFiles) {
  Json config = glm();
  EXPECT_EQ(read(config.dump(), R"({"eos_token_id":[7,5,0]})").value().stop_ids, (std::vector<TokenId>{TokenId(0), TokenId(3), TokenId(5), TokenId(7)}));
  EXPECT_EQ(read(config.dump(), R"({"eos_token_id":9})").value().stop_ids, (std::vector<TokenId>{TokenId(3), TokenId(5), TokenId(9)}));
  EXPECT_EQ(read(config.dump(), R"({"temperature":1})").value().stop_ids.size(), 2u);
  config["eos_token_id"] = 4;
  EXPECT_EQ(read(config.dump()).value().stop_ids, (std::vector<TokenId>{TokenId(4)}));
  for (const char* bad : {"-1", "192", "1.5", "\"3\"", "[3,[4]]", "[3,null]", "{}", "true"}) {
    EXPECT_FALSE(read(glm().dump(), std::string("{\"eos_token_id\":") + bad + "}").ok()) << bad;
    config["eos_token_id"] = Json::parse(bad);
    EXPECT_FALSE(read(config.dump()).ok()) << bad;
  }
  config["eos_token_id"] = nullptr;
  std::vector<LayoutWarning> warnings;
  EXPECT_TRUE(read(config.dump(), {}, &warnings).value().stop_ids.empty());
  ASSERT_EQ(warnings.size(), 1u);
  EXPECT_EQ(warnings[0].code, "stop_ids_missing");
}

TEST(ModelConfig, KnowsTwoPlacesOfTheRopesBase) {
  Json config = glm();
  config.erase("rope_parameters");
  EXPECT_EQ(read(config.dump()).value().mla.rope_theta, 1e4);
  config["rope_theta"] = 1000000;
  EXPECT_EQ(read(config.dump()).value().mla.rope_theta, 1e6);
  config["rope_parameters"] = {{"rope_theta", 8000000}, {"rope_type", "default"}};
  EXPECT_EQ(read(config.dump()).value().mla.rope_theta, 8e6);
  config["rope_scaling"] = nullptr;
  EXPECT_TRUE(read(config.dump()).ok());
}

TEST(ModelConfig, CountsDenseLayersOrReadsTheirList) {
  Json config = glm();
  config.erase("mlp_layer_types");
  EXPECT_EQ(read(config.dump()).value().layers[1].ffn, FfnKind::Dense);
  EXPECT_EQ(read(config.dump()).value().layers[2].ffn, FfnKind::Sparse);
  config = glm();
  config.erase("first_k_dense_replace");
  config["mlp_layer_types"][4] = "dense";
  EXPECT_EQ(read(config.dump()).value().layers[4].ffn, FfnKind::Dense);
  EXPECT_EQ(read(config.dump()).value().layers[5].ffn, FfnKind::Sparse);
}

TEST(ModelConfig, TellsOfKeysThatItDoesNotKnow) {
  Json config = glm();
  config["a_new_idea"] = 3;
  std::vector<LayoutWarning> warnings;
  ASSERT_TRUE(read(config.dump(), {}, &warnings).ok());
  ASSERT_EQ(warnings.size(), 1u);
  EXPECT_EQ(warnings[0].code, "config_unknown");
  EXPECT_NE(warnings[0].text.find("a_new_idea"), std::string::npos);
}

TEST(ModelConfig, AssumesAContextWhenNoneIsSaid) {
  Json config = glm();
  config.erase("max_position_embeddings");
  std::vector<LayoutWarning> warnings;
  EXPECT_EQ(read(config.dump(), {}, &warnings).value().context_max, 8192);
  ASSERT_EQ(warnings.size(), 1u);
  EXPECT_EQ(warnings[0].code, "context_unknown");
}

struct ConfigCase {
  const char* key;
  const char* value;  // JSON; "" takes the key away
  Errc code;
};

TEST(ModelConfig, RefusesHostileValues_NamingTheKey) {
  std::vector<ConfigCase> cases;
  for (const char* key : {"vocab_size", "hidden_size", "num_hidden_layers", "num_attention_heads", "q_lora_rank", "kv_lora_rank", "qk_nope_head_dim", "qk_rope_head_dim",
                          "v_head_dim", "intermediate_size", "moe_intermediate_size", "n_routed_experts", "num_experts_per_tok", "index_n_heads", "index_head_dim", "index_topk"})
    for (const char* value : {"", "0", "-1", "-9223372036854775808", "2147483648", "9223372036854775807", "18446744073709551615", "1.5", "72.0", "1e3", "\"72\"", "[72]", "{}",
                              "true", "null"})
      cases.push_back({key, value, Errc::Corrupt});
  for (const char* key : {"n_shared_experts", "num_nextn_predict_layers", "first_k_dense_replace", "index_skip_topk_offset"})
    for (const char* value : {"-1", "1000000", "0.5", "\"1\"", "[]"}) cases.push_back({key, value, Errc::Corrupt});
  for (const char* value : {"0", "-1", "4294967296", "1.5", "\"3\""}) cases.push_back({"index_topk_freq", value, Errc::Corrupt});
  for (const char* value : {"0", "-1", "4294967296", "1.5", "\"4096\""}) cases.push_back({"max_position_embeddings", value, Errc::Corrupt});
  for (const char* value : {"0", "-1e-5", "1", "1e300", "\"1e-5\"", "[]"}) cases.push_back({"rms_norm_eps", value, Errc::Corrupt});
  for (const char* value : {"0", "-2.5", "1e300", "\"2.5\""}) cases.push_back({"routed_scaling_factor", value, Errc::Corrupt});
  for (const char* value : {"1", "\"true\"", "[]"}) cases.push_back({"norm_topk_prob", value, Errc::Corrupt});
  for (const char* value : {"9", "8.0", "-3"}) cases.push_back({"num_experts_per_tok", value, Errc::Corrupt});
  for (const char* value : {"7", "9", "1"}) cases.push_back({"qk_rope_head_dim", value, Errc::Corrupt});
  for (const char* value : {"21", "0", "\"20\""}) cases.push_back({"qk_head_dim", value, Errc::Corrupt});
  for (const char* value : {"7", "6"}) cases.push_back({"index_head_dim", value, Errc::Corrupt});
  for (const char* value : {"[]", "\"full\"", R"(["full"])", R"(["full","full","shared","shared","full","half"])", R"(["shared","full","shared","shared","full","shared"])",
                            R"(["full","full","shared","shared","full","shared","full"])", R"(["full","full","shared","shared","full",1])"})
    cases.push_back({"indexer_types", value, Errc::Corrupt});
  for (const char* value : {"[]", R"(["dense"])", R"(["dense","dense","dense","sparse","sparse","sparse"])", R"(["dense","dense","sparse","sparse","sparse","odd"])", "3"})
    cases.push_back({"mlp_layer_types", value, Errc::Corrupt});
  for (const char* value : {"[]", "\"default\"", R"({"rope_theta":0,"rope_type":"default"})", R"({"rope_theta":"8e6"})", R"({"rope_theta":-1})"})
    cases.push_back({"rope_parameters", value, Errc::Corrupt});
  for (const char* value : {"1", "\"yes\""}) cases.push_back({"tie_word_embeddings", value, Errc::Corrupt});
  int tried = 0;
  for (const ConfigCase& c : cases) {
    Json config = glm();
    if (*c.value == '\0') {
      config.erase(c.key);
    } else {
      config[c.key] = Json::parse(c.value);
    }
    const auto got = read(config.dump());
    ASSERT_FALSE(got.ok()) << c.key << " = " << c.value;
    EXPECT_EQ(got.error().code, c.code) << c.key << " = " << c.value << ": " << got.error().what;
    EXPECT_NE(got.error().what.find("config.json"), std::string::npos) << got.error().what;
    const std::string key = std::string(c.key) == "mlp_layer_types" || std::string(c.key) == "indexer_types" ? "layer" : c.key;
    EXPECT_NE(got.error().what.find(key), std::string::npos) << c.key << " = " << c.value << ": " << got.error().what;
    ++tried;
  }
  EXPECT_GT(tried, 300);
  EXPECT_TRUE(read(glm().dump()).ok());  // the control: without a hostile value it is read
}

TEST(ModelConfig, RefusesWhatChangesTheMathsAndIsNotHandled_ByName) {
  const std::vector<std::pair<const char*, const char*>> cases = {
      {"n_group", "8"}, {"topk_group", "4"}, {"scoring_func", "\"softmax\""}, {"topk_method", "\"greedy\""}, {"hidden_act", "\"gelu\""}, {"attention_bias", "true"},
      {"mlp_bias", "true"}, {"rope_interleave", "false"}, {"indexer_rope_interleave", "false"}, {"num_key_value_heads", "1"}, {"moe_layer_freq", "2"},
      {"rope_scaling", R"({"type":"yarn","factor":40})"}, {"rope_scaling", R"({"rope_type":"linear","factor":2.0})"},
      {"rope_parameters", R"({"rope_type":"yarn","rope_theta":1e6,"factor":32})"}, {"rope_parameters", R"({"rope_type":"default","rope_theta":1e6,"partial_rotary_factor":0.5})"},
      {"rope_parameters", R"({"rope_type":"default","rope_theta":1e6,"mscale":1.2})"}, {"swiglu_limit", "10"}, {"final_logit_softcapping", "30"}, {"sliding_window", "512"},
      {"logit_scale", "0.5"}, {"embedding_multiplier", "12"}, {"layer_types", R"(["full_attention"])"}};
  for (const auto& [key, value] : cases) {
    Json config = glm();
    config[key] = Json::parse(value);
    const auto got = read(config.dump());
    ASSERT_FALSE(got.ok()) << key << " = " << value;
    EXPECT_EQ(got.error().code, Errc::Unsupported) << got.error().what;
    EXPECT_NE(got.error().what.find(key), std::string::npos) << got.error().what;
  }
  Json pattern = glm();
  pattern["index_topk_pattern"] = "FFS";
  EXPECT_TRUE(read(pattern.dump()).ok());  // the list governs
  pattern.erase("indexer_types");
  EXPECT_EQ(read(pattern.dump()).error().code, Errc::Unsupported);
}

TEST(ModelConfig, NamesEveryFaultInOneError) {
  Json config = glm();
  config["hidden_size"] = 0;
  config["n_group"] = 8;
  config.erase("v_head_dim");
  const auto got = read(config.dump());
  ASSERT_FALSE(got.ok());
  for (const char* key : {"hidden_size is 0", "n_group is 8", "v_head_dim is missing"}) EXPECT_NE(got.error().what.find(key), std::string::npos) << got.error().what;
}

TEST(ModelConfig, RefusesAKeyThatIsThereTwice) {
  std::string text = glm().dump();
  text.insert(1, "\"hidden_size\":64,");
  const auto got = read(text);
  ASSERT_FALSE(got.ok());
  EXPECT_NE(got.error().what.find("'hidden_size' twice"), std::string::npos) << got.error().what;
}

TEST(ModelConfig, OfAnotherArchitectureIsNamed) {
  ModelSurgery surgery("glm");
  surgery.config["model_type"] = "mamba9";
  auto opened = openLayout(surgery.write());
  ASSERT_FALSE(opened.ok());
  EXPECT_EQ(opened.error().code, Errc::Unsupported);
  EXPECT_NE(opened.error().what.find("mamba9"), std::string::npos);
  EXPECT_NE(opened.error().what.find("glm_moe_dsa"), std::string::npos);
  surgery.config.erase("model_type");
  EXPECT_EQ(openLayout(surgery.write()).error().code, Errc::Corrupt);
  surgery.other["generation_config.json"] = "{\"eos_token_id\":";
  surgery.config["model_type"] = "glm_moe_dsa";
  opened = openLayout(surgery.write());
  ASSERT_FALSE(opened.ok());
  EXPECT_NE(opened.error().what.find("generation_config.json"), std::string::npos);
}

TEST(ModelConfig, IsNotAnythingButAnObject) {
  for (const char* text : {"[]", "3", "null", "\"glm_moe_dsa\"", "{", "", "{\"a\":NaN}"}) EXPECT_FALSE(read(text).ok()) << text;
  EXPECT_FALSE(read(std::string(5000, '[') + std::string(5000, ']')).ok());
}

}  // namespace
}  // namespace sluice
