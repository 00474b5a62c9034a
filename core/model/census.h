#pragma once
// The census: every tensor that a config promises is looked up with its shape and bytes; what is missing or wrong is gathered, and told in
// one error at the end.

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "core/format/expert_layout.h"
#include "core/format/quant_format.h"
#include "core/format/tensor_directory.h"

namespace sluice {

/// `layer` of tensors that belong to none.
constexpr int kNoLayer = -1;

class Census {
 public:
  explicit Census(const TensorDirectory& directory);

  /// Each returns an empty layout and notes the fault when the tensor is missing or wrong.
  MatrixLayout matrix(int layer, const std::string& name, int rows, int cols);
  VectorLayout vector(int layer, const std::string& name, int length);
  std::vector<ExpertLayout> experts(int layer, const ExpertNames& names, int count, int inter, int hidden);
  /// Notes a fault of another kind.
  void wrong(Error error) { wrong_.push_back(std::move(error)); }

  /// Tensors whose byte counts fit several formats and that bear no stamp, with the formats that were not taken.
  struct Ambiguous {
    std::string name, taken, rivals;
  };
  const std::vector<Ambiguous>& ambiguous() const { return ambiguous_; }

  /// Tensors that nobody asked for, in order of their names.
  std::vector<const TensorEntry*> unclaimed() const;

  /// Done when nothing is missing and nothing wrong. Otherwise one error: the first twenty or so groups ("experts 17 to 255 of layer 40",
  /// "all of layers 42 to 77", single names), the counts, the first faults.
  /// errors  NotFound (only missing), Unsupported (nothing worse than what is not read), Corrupt
  Result<Done> verdict() const;

 private:
  struct Tally {
    std::uint64_t expected = 0, missing = 0;
    std::vector<std::string> names;     // missing tensors outside whole experts
    std::vector<int> experts;           // ascending: all three matrices missing
  };
  void claim(const std::string& name);
  bool lacks(int layer, const std::string& name);
  std::vector<std::string> missingGroups() const;
  const TensorDirectory& directory_;
  std::vector<bool> claimed_;
  std::map<int, Tally> tallies_;  // by layer
  std::vector<Error> wrong_;
  std::vector<Ambiguous> ambiguous_;
};

/// "model.layers.LAYER.REST" -> LAYER and REST; false for other names.
bool splitLayerName(std::string_view name, int& layer, std::string_view& rest);

}  // namespace sluice
