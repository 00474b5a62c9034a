#pragma once
// What a model is, as data: kinds of blocks and their sizes. A family file (core/model/glm_moe_dsa.cpp) fills it from config.json; the
// decoder reads it and knows no family.

#include <string>
#include <vector>

#include "core/base/ids.h"

namespace sluice {

enum class AttentionKind { Mla };       // further kinds come with their families
enum class RouterKind { SigmoidBias };  // spec name R4: sigmoid, selection by score + bias, weights = unbiased scores
enum class IndexerRole { None, Full, Shared };
enum class FfnKind { Dense, Sparse };

struct LayerConfig {
  AttentionKind attention = AttentionKind::Mla;
  FfnKind ffn = FfnKind::Dense;
  IndexerRole indexer = IndexerRole::None;
};

struct MlaConfig {
  int heads = 0;
  int q_lora_rank = 0, kv_lora_rank = 0;
  int nope = 0, rope = 0, v = 0;  // per head: unrotated and rotated query width, value width
  double rope_theta = 1e4;
  int cachedWidth() const { return kv_lora_rank + rope; }
};

struct IndexerConfig {
  int heads = 0, width = 0;  // width: of one head, rope part first
  int top_k = 0;             // positions kept
};

struct RouterConfig {
  RouterKind kind = RouterKind::SigmoidBias;
  int experts = 0, top_k = 0;
  bool normalise = true;
  float scale = 1.0f;
};

struct ModelConfig {
  std::string family;        // model_type of config.json
  std::string architecture;  // for messages
  int vocabulary = 0, hidden = 0;
  int context_max = 0;  // max_position_embeddings
  float rms_eps = 1e-5f;
  MlaConfig mla;
  IndexerConfig indexer;  // heads 0: the family has none
  RouterConfig router;
  int dense_inter = 0, expert_inter = 0, shared_inter = 0;  // shared_inter: moe_intermediate_size * n_shared_experts; 0: none
  std::vector<LayerConfig> layers;  // the trunk
  bool has_mtp = false;             // the config declares one draft layer; layout says whether its tensors are there
  LayerConfig mtp;
  std::vector<TokenId> stop_ids;    // union of config.json and generation_config.json, sorted
};

}  // namespace sluice
