#pragma once
// What the bytes of one tensor mean: colibri containers (fmt 0 to 5 and 8), float checkpoints and FP8 with scales. A container's format is
// inferred from byte counts, as its engine does; where two fit, the stamp decides, then the order of the rules; a stamp that the bytes
// contradict is refused.

#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "core/format/tensor_directory.h"

namespace sluice {

/// The name of the first tensor that `name` needs and the directory lacks (itself, or its scales); empty when all are there.
std::string missingPart(const TensorDirectory& directory, const std::string& name);

/// The matrix [rows, cols] that is stored as `name`. rows and cols are at most 2^26.
/// errors  NotFound (missingPart), Corrupt (shape, byte count, scale count, stamp), Unsupported (dtypes and formats that are not read, by name)
Result<MatrixLayout> matrixLayout(const TensorDirectory& directory, const std::string& name, int rows, int cols);

/// Further formats that an unstamped container tensor's byte counts fit, beside the one that matrixLayout takes by the order of the rules:
/// what `inspect` reports as ambiguous. Empty for all others.
std::vector<std::string> rivalFormats(const TensorDirectory& directory, const std::string& name, int rows, int cols);

/// The float vector [length] that is stored as `name`.
/// errors  as matrixLayout
Result<VectorLayout> vectorLayout(const TensorDirectory& directory, const std::string& name, int length);

/// `count` float or FP8 matrices [rows, cols] stored as one tensor [count, rows, cols]: matrix `index` of it.
/// errors  as matrixLayout
Result<MatrixLayout> stackedMatrixLayout(const TensorDirectory& directory, const std::string& name, int count, int rows, int cols, int index);

/// Rows [begin, begin + rows) of a float or FP8 matrix, as a matrix of its own.
/// errors  Unsupported (FP8 whose blocks straddle the cut)
Result<MatrixLayout> rowsOf(const MatrixLayout& matrix, int begin, int rows, const std::string& name);

/// "int4-g64", "int4-row", "int8-row", "int3-g64", "int2-row", "bf16", "fp8-128x128", "fp8-row", "fp8-tensor", ...
std::string formatName(const MatrixLayout& matrix);
std::string formatName(const VectorLayout& vector);

/// Bytes on disk, scales included.
Bytes bytesOf(const MatrixLayout& matrix);

}  // namespace sluice
