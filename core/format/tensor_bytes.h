#pragma once
// Reading what a layout points at, for whoever loads resident weights: files opened once, each proved to be the one whose header was read.

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/base/file.h"
#include "core/base/result.h"
#include "core/format/matrix_layout.h"

namespace sluice {

class TensorReader {
 public:
  /// Opens every file of a model.
  /// errors  NotFound, Io, Corrupt (a file is not the one it was when its header was read)
  static Result<TensorReader> open(std::span<const ModelFile> files);

  /// Fills `out` with the extent's bytes as they are on disk; out.size() == extent.bytes.
  /// threads const; concurrent calls are fine
  /// errors  Corrupt, Io
  Result<Done> read(const Extent& extent, std::span<std::byte> out) const;

  /// A vector as f32; out.size() == vector.length.
  /// errors  Corrupt, Io, Numeric (a value that is not finite)
  Result<Done> readVector(const VectorLayout& vector, std::span<float> out) const;

  /// A matrix's scales as f32, in order; out.size() == scaleCount(matrix).
  /// errors  Corrupt, Io, Numeric (a scale that is not finite)
  Result<Done> readScales(const MatrixLayout& matrix, std::span<float> out) const;

 private:
  TensorReader() = default;
  std::vector<ModelFile> files_;
  std::vector<OwnedFd> descriptors_;
};

/// How many scales a matrix has; 0 for float formats.
std::uint64_t scaleCount(const MatrixLayout& matrix);

/// Turns stored scales into f32. `stored` holds out.size() scales of the format.
void decodeScales(ScaleFormat format, std::span<const std::byte> stored, std::span<float> out);

}  // namespace sluice
