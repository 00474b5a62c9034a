#pragma once
// The family glm_moe_dsa (GLM-5 to 5.3): its config.json as a ModelConfig, its tensors as a ModelLayout.

#include <vector>

#include "core/base/result.h"
#include "core/format/json_text.h"
#include "core/format/tensor_directory.h"
#include "core/model/layout.h"

namespace sluice {

constexpr std::string_view kGlmMoeDsa = "glm_moe_dsa";

/// Reads config.json and generation_config.json (may be null). What it cannot refuse but ought to tell goes to `warnings`.
/// errors  Corrupt (a value is missing, of the wrong type or out of range: names all), Unsupported (a value that changes what is computed
///         and is not handled, by name)
Result<ModelConfig> glmMoeDsaConfig(const JsonText& config, const JsonText* generation, std::vector<LayoutWarning>& warnings);

/// True when config.json says that the head is the embedding.
bool glmMoeDsaTiesHead(const JsonText& config);

/// Finds every tensor. Indexers and the draft layer are optional, each as a whole. out.config and out.files are set by the caller;
/// config's roles turn to None, and has_mtp to false, when those sets are absent.
/// errors  as openLayout
Result<Done> glmMoeDsaTensors(const TensorDirectory& directory, bool tied_head, ModelLayout& out);

}  // namespace sluice
