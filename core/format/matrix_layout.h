#pragma once
// Where weights lie in the model's files and what their bytes mean; nothing is read here.

#include <cstdint>
#include <filesystem>
#include <vector>

#include "core/base/bytes.h"
#include "core/base/ids.h"
#include "core/ports/kernels.h"

namespace sluice {

/// One file of the model, with what it was when its header was read: a file replaced under us is noticed by these.
struct ModelFile {
  std::filesystem::path path;
  std::uint64_t size = 0;
  std::uint64_t device = 0, inode = 0;
  std::int64_t modified_ns = 0;
};

/// A run of bytes in file `file` of the model, proved to lie inside it.
struct Extent {
  std::uint32_t file = 0;
  std::uint64_t offset = 0;
  std::uint64_t bytes = 0;
};

/// How scales are stored; in memory they are f32 always.
enum class ScaleFormat : std::uint8_t { None, F32, Bf16, F16, E8m0 };

/// A weight matrix on disk: row-major [rows, cols].
struct MatrixLayout {
  WeightFormat format = WeightFormat::F32;
  int rows = 0, cols = 0;
  int group = 0;                       // integer formats: columns a scale (cols for a scale a row)
  int block_rows = 0, block_cols = 0;  // Fp8
  Extent data;
  ScaleFormat scale_format = ScaleFormat::None;
  Extent scales;  // bytes 0 when there are none
};

/// A vector that is f32 in memory (norms, biases), whatever it is on disk (F32, Bf16 or F16).
struct VectorLayout {
  WeightFormat format = WeightFormat::F32;
  int length = 0;
  Extent data;
};

/// One routed expert: six extents, perhaps in several files.
struct ExpertLayout {
  MatrixLayout gate, up, down;
};

}  // namespace sluice
