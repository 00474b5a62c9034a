#pragma once
// Experts of random bytes in real files, and what must be found in a slot that claims to hold one.

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "core/format/matrix_layout.h"
#include "core/ports/expert_source.h"

namespace sluice {

struct TinySpec {
  int layers = 3, experts = 16;    // the first layer is dense: it has none
  int hidden = 64, inter = 32;
  ScaleFormat scales = ScaleFormat::F32;
  std::uint64_t shift = 0;         // bytes before the first payload: 1 makes every float misaligned
  bool split = false;              // odd experts lie in a second file
  bool draft_layer = false;        // a last layer of int8 experts, so a second size
};

class TinyExperts {
 public:
  TinyExperts(const std::filesystem::path& directory, std::uint64_t seed, const TinySpec& spec);
  std::vector<std::span<const ExpertLayout>> layers() const;
  const std::vector<ModelFile>& files() const { return files_; }
  const ExpertLayout& layout(LayerId layer, ExpertId expert) const { return layers_[layer.value()][expert.value()]; }
  int expertsIn(LayerId layer) const { return int(layers_[layer.value()].size()); }
  int layerCount() const { return int(layers_.size()); }

  /// Empty when `weights` are those of the expert, byte by byte as they were written; otherwise what differs. Scales are widened here by
  /// arithmetic of the test's own.
  std::string difference(LayerId layer, ExpertId expert, const ExpertWeights& weights) const;

 private:
  std::string differenceOf(const MatrixLayout& layout, const WeightMatrix& matrix) const;
  std::vector<std::vector<ExpertLayout>> layers_;
  std::vector<ModelFile> files_;
  std::vector<std::string> contents_;  // of each file
};

/// The file as it is now.
ModelFile modelFileAt(const std::filesystem::path& path);

}  // namespace sluice
