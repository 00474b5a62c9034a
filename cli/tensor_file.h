#pragma once
// Writes tensors as a safetensors file: `trace --out`.

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "core/base/file.h"
#include "core/base/result.h"

namespace sluice {

class TensorFile {
 public:
  /// Row-major; `values.size()` is the product of `shape`.
  void add(std::string name, std::vector<std::int64_t> shape, std::vector<float> values);
  void add(std::string name, std::vector<std::int64_t> shape, std::vector<std::int64_t> values);
  /// errors  Io (the old file, if any, is left as it was)
  Result<Done> write(FileSteps& steps, const std::filesystem::path& path) const;

 private:
  struct Tensor {
    std::string name;
    std::vector<std::int64_t> shape;
    std::vector<float> floats;
    std::vector<std::int64_t> ids;
    bool is_float = true;
    std::uint64_t bytes() const { return is_float ? floats.size() * sizeof(float) : ids.size() * sizeof(std::int64_t); }
  };
  void add(Tensor tensor);
  std::vector<Tensor> tensors_;
};

}  // namespace sluice
