// Goal:   a model that is not whole is told so before anything runs: what is missing, where, and how much; optional sets are optional as a whole.
// Method: models of tests/models with one thing taken away or changed, beside the whole one.

#include <algorithm>

#include <gtest/gtest.h>

#include "core/model/inspect.h"
#include "core/model/layout.h"
#include "tests/support/model_surgery.h"

namespace sluice {
namespace {

std::string faultOf(ModelSurgery& surgery, Errc code) {
  const auto opened = openLayout(surgery.write());
  if (opened.ok()) return "(no error)";
  EXPECT_EQ(opened.error().code, code) << opened.error().what;
  return opened.error().what;
}

bool warns(const ModelLayout& layout, const std::string& code) {
  return std::any_of(layout.warnings.begin(), layout.warnings.end(), [&](const LayoutWarning& warning) { return warning.code == code; });
}

#define EXPECT_SAYS(text, part) EXPECT_NE((text).find(part), std::string::npos) << (text)

TEST(Census, IsContentWithAWholeModelTakenApartAndWrittenAnew) {
  for (const char* name : {"glm", "glm-fp8", "coli-i4g64", "coli-mixed", "nano-gs64"}) {
    ModelSurgery surgery(name);
    const auto opened = openLayout(surgery.write());
    ASSERT_TRUE(opened.ok()) << opened.error().what;
    EXPECT_TRUE(opened.value().warnings.empty()) << name;
  }
}

TEST(Census, NamesAMissingTensor) {
  for (const char* name : {"model.embed_tokens.weight", "lm_head.weight", "model.norm.weight", "model.layers.0.self_attn.kv_b_proj.weight",
                           "model.layers.1.mlp.up_proj.weight", "model.layers.4.mlp.gate.weight", "model.layers.5.mlp.gate.e_score_correction_bias",
                           "model.layers.3.mlp.shared_experts.down_proj.weight", "model.layers.2.post_attention_layernorm.weight"}) {
    ModelSurgery surgery("glm");
    ASSERT_EQ(surgery.remove(name), 1);
    const std::string fault = faultOf(surgery, Errc::NotFound);
    EXPECT_SAYS(fault, "1 of 241 tensors are missing");
    EXPECT_SAYS(fault, name);
  }
}

TEST(Census, NamesScalesThatAreMissing) {
  ModelSurgery codes("coli-i4g64");
  ASSERT_EQ(codes.remove("layers.2.self_attn.o_proj.weight.qs"), 1);
  EXPECT_SAYS(faultOf(codes, Errc::NotFound), "model.layers.2.self_attn.o_proj.weight.qs");
  ModelSurgery fp8("glm-fp8");
  fp8.other.clear();
  ASSERT_EQ(fp8.remove("layers.2.self_attn.o_proj.weight_scale_inv"), 1);
  EXPECT_SAYS(faultOf(fp8, Errc::NotFound), "model.layers.2.self_attn.o_proj.weight_scale_inv");
}

TEST(Census, GroupsExpertsAndLayers) {
  ModelSurgery surgery("glm");
  for (const int expert : {2, 3, 4, 7}) surgery.remove("layers.3.mlp.experts." + std::to_string(expert) + ".");
  EXPECT_SAYS(faultOf(surgery, Errc::NotFound), "12 of 241 tensors are missing: experts 2 to 4, 7 of layer 3");
  surgery.remove("layers.2.mlp.experts.5.up_proj");
  EXPECT_SAYS(faultOf(surgery, Errc::NotFound), "model.layers.2.mlp.experts.5.up_proj.weight, experts 2 to 4, 7 of layer 3");
  surgery.remove("model.layers.4.");
  surgery.remove("model.layers.5.");
  EXPECT_SAYS(faultOf(surgery, Errc::NotFound), "all of layers 4 to 5");
}

TEST(Census, ListsTwentyGroupsAndCountsTheRest) {
  ModelSurgery surgery("glm");
  const int removed = surgery.remove(".gate_proj.weight");
  ASSERT_GT(removed, 25);
  const std::string fault = faultOf(surgery, Errc::NotFound);
  EXPECT_SAYS(fault, std::to_string(removed) + " of 241 tensors are missing");
  EXPECT_SAYS(fault, ", and " + std::to_string(removed - 20) + " more");
  EXPECT_LT(fault.size(), 2000u);
}

TEST(Census, FindsExpertsThatAConverterSkipped) {
  ModelSurgery surgery("glm");
  surgery.remove(".mlp.experts.");
  const std::string fault = faultOf(surgery, Errc::NotFound);
  EXPECT_SAYS(fault, "experts 0 to 7 of layers 2 to 6");
  EXPECT_SAYS(fault, "120 of 241 tensors are missing");
}

TEST(Census, NamesTheMissingShard) {
  ModelSurgery surgery("glm-sharded-f32");
  surgery.files.erase("model-00003-of-00004.safetensors");
  EXPECT_SAYS(faultOf(surgery, Errc::NotFound), "model-00003-of-00004.safetensors");
  surgery.other.clear();  // without the index the names of the shards still tell
  const std::string fault = faultOf(surgery, Errc::NotFound);
  EXPECT_SAYS(fault, "tensors are missing");
  EXPECT_SAYS(fault, "1 shard is not there, the first is model-00003-of-00004.safetensors");
}

TEST(Census, RefusesWrongBytesAndShapes) {
  ModelSurgery bytes("coli-i4g64");
  TestTensor& codes = bytes.tensor("model.layers.2.mlp.experts.3.down_proj.weight");
  codes.bytes.pop_back();
  codes.shape = {codes.bytes.size()};
  EXPECT_SAYS(faultOf(bytes, Errc::Corrupt), "model.layers.2.mlp.experts.3.down_proj.weight");

  ModelSurgery swapped("glm");
  TestTensor& down = swapped.tensor("model.layers.2.mlp.experts.3.down_proj.weight");
  std::swap(down.shape[0], down.shape[1]);
  EXPECT_SAYS(faultOf(swapped, Errc::Corrupt), "has shape [24, 72], the config asks for [72, 24]");

  ModelSurgery fused("glm-fused");
  TestTensor& both = fused.tensor("model.layers.2.mlp.experts.gate_up_proj");
  std::swap(both.shape[1], both.shape[2]);
  EXPECT_SAYS(faultOf(fused, Errc::Corrupt), "has shape [8, 72, 48], the config asks for [8, 48, 72]");

  ModelSurgery norm("glm");
  norm.tensor("model.norm.weight").shape = {2, 36};
  EXPECT_SAYS(faultOf(norm, Errc::Corrupt), "model.norm.weight");
}

TEST(Census, TellsWhatIsMissingAndWhatIsWrongTogether) {
  ModelSurgery surgery("glm");
  surgery.remove("layers.3.mlp.experts.1.");
  surgery.tensor("model.norm.weight").shape = {2, 36};
  const std::string fault = faultOf(surgery, Errc::Corrupt);
  EXPECT_SAYS(fault, "expert 1 of layer 3");
  EXPECT_SAYS(fault, "model.norm.weight");
}

TEST(Census, WantsBothFusedTensors) {
  ModelSurgery surgery("glm-fused");
  ASSERT_EQ(surgery.remove("layers.4.mlp.experts.down_proj"), 1);
  EXPECT_SAYS(faultOf(surgery, Errc::NotFound), "model.layers.4.mlp.experts.down_proj");
}

TEST(Census, AttendsDenselyWithoutTheIndexerSet_AndSaysSo) {
  for (const char* name : {"glm", "coli-i4g64"}) {
    ModelSurgery surgery(name);
    ASSERT_GT(surgery.remove(".indexer."), 0);
    const auto opened = openLayout(surgery.write());
    ASSERT_TRUE(opened.ok()) << opened.error().what;
    EXPECT_TRUE(warns(opened.value(), "indexer_missing"));
    EXPECT_FALSE(warns(opened.value(), "mtp_indexer_missing"));
    for (const LayerConfig& layer : opened.value().config.layers) EXPECT_EQ(layer.indexer, IndexerRole::None);
    for (const LayerLayout& layer : opened.value().layers) EXPECT_FALSE(layer.attention.indexer.has_value());
    EXPECT_EQ(opened.value().config.mtp.indexer, IndexerRole::None);
    EXPECT_TRUE(opened.value().mtp.has_value());
  }
}

TEST(Census, RefusesAnIndexerSetThatIsNotWhole) {
  ModelSurgery layer("glm");
  ASSERT_EQ(layer.remove("layers.4.self_attn.indexer."), 5);
  const std::string fault = faultOf(layer, Errc::NotFound);
  EXPECT_SAYS(fault, "5 of 241 tensors are missing");
  EXPECT_SAYS(fault, "model.layers.4.self_attn.indexer.wq_b.weight");
  ModelSurgery tensor("glm");
  ASSERT_EQ(tensor.remove("layers.1.self_attn.indexer.k_norm.bias"), 1);
  EXPECT_SAYS(faultOf(tensor, Errc::NotFound), "model.layers.1.self_attn.indexer.k_norm.bias");
}

TEST(Census, RefusesIndexersWhereTheConfigHasNone) {
  ModelSurgery shared("glm");
  shared.config["indexer_types"][4] = "shared";
  EXPECT_SAYS(faultOf(shared, Errc::Corrupt), "layer 4 has indexer tensors, but config.json says that it shares");
  ModelSurgery none("glm");
  for (const char* key : {"index_topk", "index_n_heads", "index_head_dim", "indexer_types"}) none.config.erase(key);
  EXPECT_SAYS(faultOf(none, Errc::Corrupt), "config.json describes no indexer");
}

TEST(Census, DraftsNothingWithoutTheDraftLayer_AndSaysSo) {
  for (const char* name : {"glm", "coli-i4g64"}) {
    ModelSurgery surgery(name);
    ASSERT_GT(surgery.remove("model.layers.6."), 0);
    const auto opened = openLayout(surgery.write());
    ASSERT_TRUE(opened.ok()) << opened.error().what;
    EXPECT_TRUE(warns(opened.value(), "mtp_missing"));
    EXPECT_FALSE(opened.value().mtp.has_value());
    EXPECT_FALSE(opened.value().config.has_mtp);
  }
  ModelSurgery file("coli-i4g64");  // the draft layer's indexer stays behind in the indexers' file
  file.files.erase("out-mtp-00000.safetensors");
  const auto opened = openLayout(file.write());
  ASSERT_TRUE(opened.ok()) << opened.error().what;
  EXPECT_TRUE(warns(opened.value(), "mtp_missing"));
  EXPECT_EQ(opened.value().warnings.size(), 1u);
}

TEST(Census, RefusesADraftLayerThatIsNotWhole) {
  for (const char* part : {"layers.6.eh_proj.weight", "layers.6.shared_head.norm.weight", "layers.6.mlp.experts.7.down_proj.weight", "layers.6.self_attn.q_a_proj.weight"}) {
    ModelSurgery surgery("glm");
    ASSERT_EQ(surgery.remove(part), 1);
    EXPECT_SAYS(faultOf(surgery, Errc::NotFound), part);
  }
  ModelSurgery indexer("glm");
  ASSERT_EQ(indexer.remove("layers.6.self_attn.indexer.wk."), 1);
  EXPECT_SAYS(faultOf(indexer, Errc::NotFound), "model.layers.6.self_attn.indexer.wk.weight");
}

TEST(Census, LetsTheDraftLayerAttendDenselyWhenItAloneHasNoIndexer) {
  ModelSurgery surgery("glm");
  ASSERT_EQ(surgery.remove("layers.6.self_attn.indexer."), 5);
  const auto opened = openLayout(surgery.write());
  ASSERT_TRUE(opened.ok()) << opened.error().what;
  EXPECT_TRUE(warns(opened.value(), "mtp_indexer_missing"));
  EXPECT_EQ(opened.value().config.mtp.indexer, IndexerRole::None);
  EXPECT_EQ(opened.value().config.layers[0].indexer, IndexerRole::Full);
}

TEST(Census, TellsOfLayersBeyondTheConfig) {
  ModelSurgery undeclared("glm");
  undeclared.config["num_nextn_predict_layers"] = 0;
  auto opened = openLayout(undeclared.write());
  ASSERT_TRUE(opened.ok()) << opened.error().what;
  EXPECT_TRUE(warns(opened.value(), "layers_beyond_config"));
  EXPECT_FALSE(opened.value().mtp.has_value());
  ModelSurgery extra("glm");
  extra.files.begin()->second.add("model.layers.9.input_layernorm.weight", "BF16", {72}, 144);
  opened = openLayout(extra.write());
  ASSERT_TRUE(opened.ok()) << opened.error().what;
  EXPECT_TRUE(warns(opened.value(), "layers_beyond_config"));
}

TEST(Census, RefusesBiasesAndTellsOfOtherStrangers) {
  ModelSurgery bias("glm");
  bias.files.begin()->second.add("model.layers.2.self_attn.o_proj.bias", "BF16", {72}, 144);
  EXPECT_SAYS(faultOf(bias, Errc::Unsupported), "model.layers.2.self_attn.o_proj.bias");
  ModelSurgery stranger("glm");
  stranger.files.begin()->second.add("model.layers.2.mlp.experts.8.up_proj.weight", "BF16", {24, 72}, 24 * 72 * 2);
  const auto opened = openLayout(stranger.write());
  ASSERT_TRUE(opened.ok()) << opened.error().what;
  EXPECT_TRUE(warns(opened.value(), "unexpected_tensors"));
}

TEST(Census, TakesTheEmbeddingForATiedHead) {
  ModelSurgery surgery("glm");
  ASSERT_EQ(surgery.remove("lm_head.weight"), 1);
  EXPECT_SAYS(faultOf(surgery, Errc::NotFound), "lm_head.weight");
  surgery.config["tie_word_embeddings"] = true;
  const auto opened = openLayout(surgery.write());
  ASSERT_TRUE(opened.ok()) << opened.error().what;
  EXPECT_EQ(opened.value().head.data.offset, opened.value().embedding.data.offset);
  for (const RoleSummary& role : summariseRoles(opened.value()))
    if (role.role == "head") {
      EXPECT_EQ(role.bytes.count(), 0u);
    }
}

TEST(Census, RefusesFormatsThatAreNotReadByName) {
  ModelSurgery e8("coli-i4g64");  // hidden 128: one block of 98 bytes a row
  e8.tensor("model.layers.2.mlp.experts.0.gate_proj.weight") = {"U8", {64 * 98}, std::string(64 * 98, '\1')};
  e8.tensor("model.layers.2.mlp.experts.0.gate_proj.weight.qs") = {"F32", {1}, std::string(4, '\0')};
  EXPECT_SAYS(faultOf(e8, Errc::Unsupported), "e8-iq3-lattice (fmt 6), which is not read yet");
  ModelSurgery double_floats("glm");
  double_floats.tensor("model.layers.2.self_attn.o_proj.weight") = {"F64", {72, 80}, std::string(72 * 80 * 8, '\0')};
  EXPECT_SAYS(faultOf(double_floats, Errc::Unsupported), "F64");
}

TEST(Census, WarnsOfRoutersThatLostTheirPrecision) {
  ModelSurgery surgery("glm");
  surgery.tensor("model.layers.2.mlp.gate.e_score_correction_bias") = {"BF16", {8}, std::string(16, '\0')};
  surgery.tensor("model.layers.3.mlp.gate.weight") = {"U8", {8, 72}, std::string(576, '\1')};
  surgery.files.begin()->second.add("model.layers.3.mlp.gate.weight.qs", "F32", {8}, 32);
  const auto opened = openLayout(surgery.write());
  ASSERT_TRUE(opened.ok()) << opened.error().what;
  EXPECT_TRUE(warns(opened.value(), "router_bias_narrow"));
  EXPECT_TRUE(warns(opened.value(), "router_quantised"));
}

TEST(Census, IsNotBoughtMemoryByHostileCounts) {
  ModelSurgery surgery("glm");
  surgery.config["num_hidden_layers"] = 1024;
  surgery.config["n_routed_experts"] = 4096;
  for (const char* key : {"mlp_layer_types", "indexer_types"}) surgery.config.erase(key);
  EXPECT_SAYS(faultOf(surgery, Errc::Corrupt), "tensors are missing");
}

}  // namespace
}  // namespace sluice
