#pragma once
// Every tensor of a model, found, checked and named by role: the census. Nothing of the weights is read yet.

#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/format/matrix_layout.h"
#include "core/model/config.h"

namespace sluice {

struct IndexerLayout {
  MatrixLayout wq_b, wk, weights_proj;
  VectorLayout k_norm_weight, k_norm_bias;
};

struct MlaLayout {
  MatrixLayout q_a, q_b, kv_a, kv_b, o;
  VectorLayout q_a_norm, kv_a_norm;
  std::optional<IndexerLayout> indexer;  // present on layers whose role is Full
};

struct FfnLayout {
  MatrixLayout gate, up, down;
};

struct LayerLayout {
  VectorLayout input_norm, post_norm;
  MlaLayout attention;
  std::optional<FfnLayout> dense;   // FfnKind::Dense
  MatrixLayout router;              // FfnKind::Sparse from here on
  VectorLayout router_bias;
  std::optional<FfnLayout> shared;
  std::vector<ExpertLayout> experts;
};

struct MtpLayout {
  VectorLayout enorm, hnorm, head_norm;
  MatrixLayout eh_proj;
  LayerLayout layer;
};

struct LayoutWarning {
  std::string code;  // per_row_int4, mtp_int4, indexer_missing, mtp_missing, template_missing, ...
  std::string text;
};

struct ModelLayout {
  ModelConfig config;  // with Full/Shared turned to None when the indexer set is absent
  std::vector<ModelFile> files;
  MatrixLayout embedding, head;
  VectorLayout final_norm;
  std::vector<LayerLayout> layers;
  std::optional<MtpLayout> mtp;  // its LayerId is layers.size()
  std::vector<LayoutWarning> warnings;
};

/// Reads config.json, generation_config.json and the headers of all weight files of a model directory, finds every tensor that the
/// config promises, with its shape and byte count, and reports all that is missing or wrong in one error.
/// errors  NotFound (no config.json, no weights, tensors missing: lists them), Corrupt (shapes, bytes, offsets, headers), Unsupported
///         (architecture, formats 6 and 7, by name), Io
Result<ModelLayout> openLayout(const std::filesystem::path& directory);

}  // namespace sluice
