#include "core/model/glm_moe_dsa.h"

#include <algorithm>
#include <array>
#include <span>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/model/census.h"
#include "core/model/config_reader.h"

namespace sluice {
namespace {

// Bounds of the sizes that are believed: far above GLM-5.2's, and low enough that no product of two leaves an int.
constexpr int kHiddenMax = 1 << 18;
constexpr int kVocabularyMax = 1 << 24;
constexpr int kLayersMax = 1024;
constexpr int kHeadsMax = 4096;
constexpr int kHeadWidthMax = 8192;
constexpr int kRankMax = 1 << 16;
constexpr int kInterMax = 1 << 20;
constexpr int kExpertsMax = 4096;
constexpr int kSharedMax = 64;
constexpr int kPositionsMax = 1 << 30;
static_assert(std::int64_t(kHeadsMax) * 2 * kHeadWidthMax <= 1 << 26 && std::int64_t(kInterMax) * kSharedMax <= 1 << 26, "matrixLayout's bound");

// Read below.
constexpr std::array<std::string_view, 47> kKnownKeys = {
    "model_type", "architectures", "vocab_size", "hidden_size", "num_hidden_layers", "num_attention_heads", "num_key_value_heads", "q_lora_rank",
    "kv_lora_rank", "qk_nope_head_dim", "qk_rope_head_dim", "v_head_dim", "qk_head_dim", "intermediate_size", "moe_intermediate_size",
    "first_k_dense_replace", "mlp_layer_types", "n_routed_experts", "num_experts_per_tok", "n_shared_experts", "n_group", "topk_group",
    "scoring_func", "topk_method", "norm_topk_prob", "routed_scaling_factor", "rms_norm_eps", "rope_parameters", "rope_theta", "rope_scaling",
    "rope_interleave", "indexer_rope_interleave", "max_position_embeddings", "index_n_heads", "index_head_dim", "index_topk", "index_topk_freq",
    "index_skip_topk_offset", "index_topk_pattern", "indexer_types", "num_nextn_predict_layers", "eos_token_id", "tie_word_embeddings",
    "attention_bias", "mlp_bias", "hidden_act", "moe_layer_freq"};
// These change nothing in what is computed here: training, caching, provenance, the tokenizer's business, kernels of others. head_dim is the
// rotated width under another name; the draft layer computes an index set at every step, so index_share_for_mtp_iteration has nothing to say;
// the router is f32 whatever moe_router_dtype is; how weights are stored is read from the tensors, not from quantization_config.
constexpr std::array<std::string_view, 31> kInertKeys = {
    "attention_dropout", "initializer_range", "dtype", "torch_dtype", "use_cache", "pad_token_id", "bos_token_id", "head_dim", "transformers_version",
    "index_share_for_mtp_iteration", "moe_router_dtype", "quantization_config", "auto_map", "_name_or_path", "pretraining_tp", "ep_size", "aux_loss_alpha",
    "seq_aux", "router_aux_loss_coef", "output_router_logits", "use_return_dict", "return_dict", "output_attentions", "output_hidden_states", "id2label",
    "label2id", "problem_type", "is_encoder_decoder", "chunk_size_feed_forward", "moe_router_aux_loss", "torchscript"};
// Known from relatives; each changes what is computed.
constexpr std::array<std::string_view, 12> kForeignKeys = {
    "swiglu_limit", "final_logit_softcapping", "logit_scale", "logits_scaling", "embedding_multiplier", "residual_multiplier", "sliding_window",
    "attn_logit_softcapping", "layer_types", "num_hash_layers", "hc_mult", "attention_multiplier"};

void readRope(ConfigReader& reader, MlaConfig& mla) {
  mla.rope_theta = reader.number("rope_theta", 1.0, 1e15, 1e4);
  if (const auto rope = reader.object("rope_parameters"); rope) {
    ConfigReader inner(*rope, "rope_parameters");
    if (inner.has("rope_theta")) mla.rope_theta = inner.number("rope_theta", 1.0, 1e15);
    inner.mustBeText("rope_type", "default");
    inner.mustBeText("type", "default");
    inner.mustBeNumber("partial_rotary_factor", 1);
    constexpr std::array<std::string_view, 4> kRopeKeys = {"rope_theta", "rope_type", "type", "partial_rotary_factor"};
    for (const std::string& key : inner.keysOutside({kRopeKeys})) inner.mustBeAbsent(key);
    reader.absorb(inner);
  }
  if (const auto scaling = reader.object("rope_scaling"); scaling) {
    ConfigReader inner(*scaling, "rope_scaling");
    constexpr std::array<std::string_view, 3> kScalingKeys = {"rope_type", "type", "rope_theta"};
    inner.mustBeText("rope_type", "default");
    inner.mustBeText("type", "default");
    for (const std::string& key : inner.keysOutside({kScalingKeys})) inner.mustBeAbsent(key);
    reader.absorb(inner);
  }
  reader.mustBeFlag("rope_interleave", true);
  reader.mustBeFlag("indexer_rope_interleave", true);
}

void readAttention(ConfigReader& reader, ModelConfig& out) {
  MlaConfig& mla = out.mla;
  mla.heads = reader.integer("num_attention_heads", 1, kHeadsMax);
  mla.q_lora_rank = reader.integer("q_lora_rank", 1, kRankMax);
  mla.kv_lora_rank = reader.integer("kv_lora_rank", 1, kRankMax);
  mla.nope = reader.integer("qk_nope_head_dim", 1, kHeadWidthMax);
  mla.rope = reader.integer("qk_rope_head_dim", 2, kHeadWidthMax);
  mla.v = reader.integer("v_head_dim", 1, kHeadWidthMax);
  if (mla.rope % 2 != 0) reader.corrupt(fmt::format("qk_rope_head_dim is {}, pairs are rotated, so it is even", mla.rope));
  if (const int width = reader.integer("qk_head_dim", 1, 2 * kHeadWidthMax, mla.nope + mla.rope); width != mla.nope + mla.rope)
    reader.corrupt(fmt::format("qk_head_dim is {}, not {} + {} of its two parts", width, mla.nope, mla.rope));
  reader.mustBeNumber("num_key_value_heads", mla.heads);
  reader.mustBeFlag("attention_bias", false);
  readRope(reader, mla);
}

void readIndexer(ConfigReader& reader, ModelConfig& out) {
  const bool any = reader.has("index_topk") || reader.has("index_n_heads") || reader.has("index_head_dim") || reader.has("indexer_types");
  if (!any) return;  // dense attention is all that the config asks for
  out.indexer.heads = reader.integer("index_n_heads", 1, kHeadsMax);
  out.indexer.width = reader.integer("index_head_dim", 1, kHeadWidthMax);
  out.indexer.top_k = reader.integer("index_topk", 1, kPositionsMax);
  if (out.indexer.width < out.mla.rope)
    reader.corrupt(fmt::format("index_head_dim is {}, less than the {} dimensions that are rotated", out.indexer.width, out.mla.rope));
  const std::size_t count = out.layers.size();
  const int frequency = reader.integer("index_topk_freq", 1, kLayersMax, 1);
  const int offset = reader.integer("index_skip_topk_offset", 0, kLayersMax, 2);
  if (!reader.has("indexer_types")) {
    reader.mustBeAbsent("index_topk_pattern");  // a third way of saying it, which no published model uses
    for (int layer = 0; layer < int(count); ++layer)
      out.layers[std::size_t(layer)].indexer = std::max(layer - offset + 1, 0) % frequency == 0 ? IndexerRole::Full : IndexerRole::Shared;
  } else {
    const std::vector<std::string> types = reader.texts("indexer_types", count);
    for (std::size_t layer = 0; layer < count; ++layer) {
      if (types[layer] != "full" && types[layer] != "shared" && !types[layer].empty())
        reader.corrupt(fmt::format("indexer_types holds \"{}\" for layer {}, \"full\" or \"shared\" is needed", printable(types[layer], 40), layer));
      out.layers[layer].indexer = types[layer] == "full" ? IndexerRole::Full : IndexerRole::Shared;
    }
  }
  if (!out.layers.empty() && out.layers.front().indexer != IndexerRole::Full)
    reader.corrupt("layer 0 shares an index set, but no layer before it makes one");
  out.mtp.indexer = IndexerRole::Full;
}

void readFfn(ConfigReader& reader, ModelConfig& out) {
  const auto count = int(out.layers.size());
  out.dense_inter = reader.integer("intermediate_size", 1, kInterMax);
  out.expert_inter = reader.integer("moe_intermediate_size", 1, kInterMax);
  out.shared_inter = out.expert_inter * reader.integer("n_shared_experts", 0, kSharedMax, 1);
  out.router.experts = reader.integer("n_routed_experts", 1, kExpertsMax);
  out.router.top_k = reader.integer("num_experts_per_tok", 1, out.router.experts);
  out.router.normalise = reader.boolean("norm_topk_prob", true);
  out.router.scale = float(reader.number("routed_scaling_factor", 1e-6, 1e6, 1.0));
  const bool has_types = reader.has("mlp_layer_types");
  const int dense = reader.integer("first_k_dense_replace", 0, std::max(count, 0), has_types ? std::optional<int>(0) : std::nullopt);
  for (int layer = 0; layer < count; ++layer) out.layers[std::size_t(layer)].ffn = layer < dense ? FfnKind::Dense : FfnKind::Sparse;
  if (has_types) {
    const std::vector<std::string> types = reader.texts("mlp_layer_types", std::size_t(count));
    for (int layer = 0; layer < count; ++layer) {
      const std::string& type = types[std::size_t(layer)];
      if (type != "dense" && type != "sparse" && !type.empty())
        reader.corrupt(fmt::format("mlp_layer_types holds \"{}\" for layer {}, \"dense\" or \"sparse\" is needed", printable(type, 40), layer));
      const FfnKind kind = type == "dense" ? FfnKind::Dense : FfnKind::Sparse;
      FfnKind& known = out.layers[std::size_t(layer)].ffn;
      if (reader.has("first_k_dense_replace") && kind != known)
        reader.corrupt(fmt::format("mlp_layer_types makes layer {} {}, first_k_dense_replace {} does not", layer, type, dense));
      known = kind;
    }
  }
  reader.mustBeNumber("n_group", 1);
  reader.mustBeNumber("topk_group", 1);
  reader.mustBeText("scoring_func", "sigmoid");
  reader.mustBeText("topk_method", "noaux_tc");
  reader.mustBeText("hidden_act", "silu");
  reader.mustBeFlag("mlp_bias", false);
  reader.mustBeNumber("moe_layer_freq", 1);
  out.mtp.ffn = FfnKind::Sparse;
}

}  // namespace

Result<ModelConfig> glmMoeDsaConfig(const JsonText& config, const JsonText* generation, std::vector<LayoutWarning>& warnings) {
  simdjson::dom::object object;
  if (config.root().get(object) != simdjson::SUCCESS) return Error{Errc::Corrupt, fmt::format("{} is not an object", config.what())};
  if (const std::string_view twice = repeatedKey(object); !twice.empty())
    return Error{Errc::Corrupt, fmt::format("{} has '{}' twice; leave one", config.what(), printable(twice))};
  ConfigReader reader(object, config.what());
  ModelConfig out;
  out.family = kGlmMoeDsa;
  out.architecture = "GlmMoeDsaForCausalLM";
  out.vocabulary = reader.integer("vocab_size", 1, kVocabularyMax);
  out.hidden = reader.integer("hidden_size", 1, kHiddenMax);
  out.layers.resize(std::size_t(reader.integer("num_hidden_layers", 1, kLayersMax)));
  out.rms_eps = float(reader.number("rms_norm_eps", 1e-12, 0.1, 1e-5));
  constexpr int kContextUnsaid = 8192;
  out.context_max = reader.integer("max_position_embeddings", 1, kPositionsMax, kContextUnsaid);
  if (!reader.has("max_position_embeddings"))
    warnings.push_back({"context_unknown", fmt::format("config.json has no max_position_embeddings; {} is assumed", kContextUnsaid)});
  readAttention(reader, out);
  readIndexer(reader, out);
  readFfn(reader, out);
  const int drafts = reader.integer("num_nextn_predict_layers", 0, 64, 1);
  out.has_mtp = drafts > 0;
  if (drafts > 1)
    warnings.push_back({"mtp_extra", fmt::format("config.json declares {} draft layers; one is used", drafts)});
  reader.boolean("tie_word_embeddings", false);
  for (const std::string_view key : kForeignKeys) reader.mustBeAbsent(key);
  if (const std::vector<std::string> strange = reader.keysOutside({kKnownKeys, kInertKeys, kForeignKeys}); !strange.empty())
    warnings.push_back({"config_unknown", fmt::format("config.json has {} keys that are not known here and were ignored: {}", strange.size(),
                                                      printable(fmt::format("{}", fmt::join(strange, ", ")), 400))});
  TRY(reader.verdict());
  out.stop_ids = TRY(stopIds(config, generation, out.vocabulary));
  if (out.stop_ids.empty())
    warnings.push_back({"stop_ids_missing", "neither config.json nor generation_config.json has an eos_token_id: answers end by length alone"});
  return out;
}

bool glmMoeDsaTiesHead(const JsonText& config) {
  bool tied = false;
  return config.root()["tie_word_embeddings"].get(tied) == simdjson::SUCCESS && tied;
}

namespace {

/// Which sets of optional tensors a directory has anything of, by layer.
struct Presence {
  std::vector<bool> indexer, other;  // [layers + 1], the draft layer last
  explicit Presence(const TensorDirectory& directory, std::size_t layers) : indexer(layers + 1, false), other(layers + 1, false) {
    for (const TensorEntry& entry : directory.entries()) {
      int layer = 0;
      std::string_view rest;
      if (!splitLayerName(entry.name, layer, rest) || std::size_t(layer) > layers) continue;
      (rest.starts_with("self_attn.indexer.") ? indexer : other)[std::size_t(layer)] = true;
    }
  }
};

/// Looks up the tensors of one layer under their names.
struct LayerCensus {
  Census& census;
  const ModelConfig& config;
  int layer;
  std::string prefix = fmt::format("model.layers.{}.", layer);

  MatrixLayout matrix(const char* name, int rows, int cols) { return census.matrix(layer, prefix + name + ".weight", rows, cols); }
  VectorLayout vector(const char* name, int length) { return census.vector(layer, prefix + name, length); }

  FfnLayout ffn(const std::string& stem, int inter) {
    return {matrix((stem + "gate_proj").c_str(), inter, config.hidden), matrix((stem + "up_proj").c_str(), inter, config.hidden),
            matrix((stem + "down_proj").c_str(), config.hidden, inter)};
  }

  IndexerLayout indexer() {
    const IndexerConfig& index = config.indexer;
    return {matrix("self_attn.indexer.wq_b", index.heads * index.width, config.mla.q_lora_rank), matrix("self_attn.indexer.wk", index.width, config.hidden),
            matrix("self_attn.indexer.weights_proj", index.heads, config.hidden), vector("self_attn.indexer.k_norm.weight", index.width),
            vector("self_attn.indexer.k_norm.bias", index.width)};
  }

  MlaLayout attention(IndexerRole role) {
    const MlaConfig& mla = config.mla;
    MlaLayout out;
    out.q_a = matrix("self_attn.q_a_proj", mla.q_lora_rank, config.hidden);
    out.q_b = matrix("self_attn.q_b_proj", mla.heads * (mla.nope + mla.rope), mla.q_lora_rank);
    out.kv_a = matrix("self_attn.kv_a_proj_with_mqa", mla.kv_lora_rank + mla.rope, config.hidden);
    out.kv_b = matrix("self_attn.kv_b_proj", mla.heads * (mla.nope + mla.v), mla.kv_lora_rank);
    out.o = matrix("self_attn.o_proj", config.hidden, mla.heads * mla.v);
    out.q_a_norm = vector("self_attn.q_a_layernorm.weight", mla.q_lora_rank);
    out.kv_a_norm = vector("self_attn.kv_a_layernorm.weight", mla.kv_lora_rank);
    if (role == IndexerRole::Full) out.indexer = indexer();
    return out;
  }

  LayerLayout all(const LayerConfig& kinds) {
    LayerLayout out;
    out.input_norm = vector("input_layernorm.weight", config.hidden);
    out.post_norm = vector("post_attention_layernorm.weight", config.hidden);
    out.attention = attention(kinds.indexer);
    if (kinds.ffn == FfnKind::Dense) {
      out.dense = ffn("mlp.", config.dense_inter);
      return out;
    }
    out.router = matrix("mlp.gate", config.router.experts, config.hidden);
    out.router_bias = vector("mlp.gate.e_score_correction_bias", config.router.experts);
    if (config.shared_inter > 0) out.shared = ffn("mlp.shared_experts.", config.shared_inter);
    out.experts = census.experts(layer, ExpertNames{prefix + "mlp.experts."}, config.router.experts, config.expert_inter, config.hidden);
    return out;
  }
};

/// Turns the indexer roles to None where their tensors are absent as a whole.
void settleIndexers(const Presence& presence, ModelLayout& out) {
  std::vector<LayerConfig>& layers = out.config.layers;
  const bool wanted = std::any_of(layers.begin(), layers.end(), [](const LayerConfig& l) { return l.indexer == IndexerRole::Full; });
  if (!wanted) return;
  if (std::find(presence.indexer.begin(), presence.indexer.end(), true) == presence.indexer.end()) {
    for (LayerConfig& layer : layers) layer.indexer = IndexerRole::None;
    out.config.mtp.indexer = IndexerRole::None;
    out.warnings.push_back({"indexer_missing", fmt::format("the indexer's tensors are absent, so attention is dense at every layer: beyond {} tokens the answers are not those of "
                                                           "the published model; add the container's out-idx file",
                                                           out.config.indexer.top_k)});
  } else if (out.config.has_mtp && !presence.indexer.back()) {
    out.config.mtp.indexer = IndexerRole::None;
    out.warnings.push_back({"mtp_indexer_missing", "the draft layer's indexer is absent, so drafts attend densely; answers do not change"});
  }
}

/// Indexer tensors where the config has none would be weights that are silently ignored.
void refuseStrayIndexers(const Presence& presence, const ModelConfig& config, Census& census) {
  for (std::size_t layer = 0; layer < config.layers.size(); ++layer)
    if (presence.indexer[layer] && config.layers[layer].indexer != IndexerRole::Full)
      census.wrong({Errc::Corrupt, fmt::format("layer {} has indexer tensors, but {}; config.json and weights do not belong together", layer,
                                               config.layers[layer].indexer == IndexerRole::Shared ? "config.json says that it shares the index set of a layer before it"
                                                                                                  : "config.json describes no indexer")});
}

/// What nobody asked for: biases change what is computed and are refused, the rest is told.
void judgeUnclaimed(const std::vector<const TensorEntry*>& unclaimed, const ModelLayout& layout, Census& census, std::vector<LayoutWarning>& warnings) {
  const int last = int(layout.config.layers.size()) - (layout.config.has_mtp ? 0 : 1);
  std::vector<std::string> strange;
  std::vector<int> beyond;
  std::size_t beyond_count = 0;
  for (const TensorEntry* entry : unclaimed) {
    const std::string_view name = entry->name;
    int layer = 0;
    std::string_view rest;
    if (splitLayerName(name, layer, rest) && layer > last) {
      // The indexer of an absent draft layer lies in the indexer's file and is no news.
      if (layer == int(layout.config.layers.size()) && rest.starts_with("self_attn.indexer.")) continue;
      ++beyond_count;
      if (std::find(beyond.begin(), beyond.end(), layer) == beyond.end()) beyond.push_back(layer);
    } else if ((name.starts_with("model.") || name.starts_with("lm_head.")) && name.ends_with(".bias")) {
      census.wrong({Errc::Unsupported, fmt::format("tensor '{}' is a bias that this architecture does not have", printable(name))});
    } else if (name.starts_with("model.") || name.starts_with("lm_head.")) {
      strange.push_back(printable(name));
    }
  }
  std::sort(beyond.begin(), beyond.end());
  constexpr std::size_t kShownMax = 5;
  if (beyond_count != 0)
    warnings.push_back({"layers_beyond_config", fmt::format("{} tensors belong to {} layers from {} on, beyond the {} of config.json, and are not used", beyond_count, beyond.size(),
                                                            beyond.front(), layout.config.layers.size())});
  if (!strange.empty())
    warnings.push_back({"unexpected_tensors", fmt::format("{} tensors are not part of this architecture and are not used: {}{}", strange.size(),
                                                          fmt::join(strange.begin(), strange.begin() + std::ptrdiff_t(std::min(strange.size(), kShownMax)), ", "),
                                                          strange.size() > kShownMax ? ", ..." : "")});
}

}  // namespace

Result<Done> glmMoeDsaTensors(const TensorDirectory& directory, bool tied_head, ModelLayout& out) {
  ModelConfig& config = out.config;
  const std::size_t count = config.layers.size();
  const Presence presence(directory, count);
  if (config.has_mtp && !presence.other.back()) {
    config.has_mtp = false;
    out.warnings.push_back({"mtp_missing", fmt::format("the draft layer's tensors (layer {}) are absent: nothing is drafted, answers do not change", count)});
  }
  settleIndexers(presence, out);
  Census census(directory);
  refuseStrayIndexers(presence, config, census);
  out.embedding = census.matrix(kNoLayer, "model.embed_tokens.weight", config.vocabulary, config.hidden);
  out.head = tied_head ? out.embedding : census.matrix(kNoLayer, "lm_head.weight", config.vocabulary, config.hidden);
  out.final_norm = census.vector(kNoLayer, "model.norm.weight", config.hidden);
  for (std::size_t layer = 0; layer < count; ++layer) out.layers.push_back(LayerCensus{census, config, int(layer)}.all(config.layers[layer]));
  if (config.has_mtp) {
    LayerCensus draft{census, config, int(count)};
    MtpLayout mtp;
    mtp.enorm = draft.vector("enorm.weight", config.hidden);
    mtp.hnorm = draft.vector("hnorm.weight", config.hidden);
    mtp.head_norm = draft.vector("shared_head.norm.weight", config.hidden);
    mtp.eh_proj = draft.matrix("eh_proj", config.hidden, 2 * config.hidden);
    mtp.layer = draft.all(config.mtp);
    out.mtp = std::move(mtp);
  }
  if (const auto& ambiguous = census.ambiguous(); !ambiguous.empty())
    out.warnings.push_back({"format_ambiguous", fmt::format("the byte counts of {} tensors fit several formats, and no stamp decides: '{}' was read as {} and could be {}",
                                                            ambiguous.size(), ambiguous.front().name, ambiguous.front().taken, ambiguous.front().rivals)});
  judgeUnclaimed(census.unclaimed(), out, census, out.warnings);
  return census.verdict();
}

}  // namespace sluice
