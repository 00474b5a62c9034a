#pragma once
// Where the routed experts of one layer lie: a tensor a matrix, or all experts of the layer fused in two tensors.

#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/format/quant_format.h"

namespace sluice {

/// How a checkpoint names its experts, for `experts.E.gate_proj.weight` and `experts.gate_up_proj`.
struct ExpertNames {
  std::string prefix;  // "model.layers.3.mlp.experts."
  std::string gate(int expert) const { return prefix + std::to_string(expert) + ".gate_proj.weight"; }
  std::string up(int expert) const { return prefix + std::to_string(expert) + ".up_proj.weight"; }
  std::string down(int expert) const { return prefix + std::to_string(expert) + ".down_proj.weight"; }
  std::string fusedGateUp() const { return prefix + "gate_up_proj"; }  // [experts, 2 * inter, hidden], the gate's rows first
  std::string fusedDown() const { return prefix + "down_proj"; }       // [experts, hidden, inter]
};

/// True when either fused tensor is there.
bool expertsAreFused(const TensorDirectory& directory, const ExpertNames& names);

/// Every expert of a layer out of its two fused tensors.
/// errors  as stackedMatrixLayout and rowsOf
Result<std::vector<ExpertLayout>> fusedExperts(const TensorDirectory& directory, const ExpertNames& names, int experts, int inter, int hidden);

}  // namespace sluice
