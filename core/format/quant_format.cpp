#include "core/format/quant_format.h"

#include <array>
#include <optional>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/format/json_text.h"

namespace sluice {
namespace {

constexpr std::uint64_t ceilDiv(std::uint64_t n, std::uint64_t d) { return (n + d - 1) / d; }

// The groups that a container of fmt 4 may have, in the order in which its engine tries them: the first that gives the number of scales is meant.
constexpr std::array<int, 8> kInt4Groups = {16, 32, 48, 64, 96, 128, 192, 256};
constexpr int kInt3Group = 64;
constexpr int kFp8Block = 128;

const TensorEntry* scalesOf(const TensorDirectory& directory, const std::string& name, std::string* found_name = nullptr) {
  for (const char* suffix : {"_scale_inv", "_scale"})
    if (const TensorEntry* scales = directory.find(name + suffix); scales != nullptr) {
      if (found_name != nullptr) *found_name = name + suffix;
      return scales;
    }
  return nullptr;
}

Error corrupt(const TensorDirectory& directory, const TensorEntry& entry, const std::string& fault) {
  return Error{Errc::Corrupt, fmt::format("tensor '{}' in {} {}", entry.name, directory.fileOf(entry).string(), fault)};
}

Error unsupported(const TensorDirectory& directory, const TensorEntry& entry, const std::string& fault) {
  return Error{Errc::Unsupported, fmt::format("tensor '{}' in {} {}", entry.name, directory.fileOf(entry).string(), fault)};
}

bool hasShape(const TensorEntry& entry, std::initializer_list<std::uint64_t> shape) {
  return entry.rank == int(shape.size()) && std::equal(shape.begin(), shape.end(), entry.shape.begin());
}

std::optional<WeightFormat> floatFormat(Dtype dtype) {
  if (dtype == Dtype::F32) return WeightFormat::F32;
  if (dtype == Dtype::Bf16) return WeightFormat::Bf16;
  if (dtype == Dtype::F16) return WeightFormat::F16;
  return std::nullopt;
}

std::optional<ScaleFormat> scaleFormat(Dtype dtype) {
  if (dtype == Dtype::F32) return ScaleFormat::F32;
  if (dtype == Dtype::Bf16) return ScaleFormat::Bf16;
  if (dtype == Dtype::F16) return ScaleFormat::F16;
  if (dtype == Dtype::E8m0) return ScaleFormat::E8m0;
  return std::nullopt;
}

// ---- FP8 checkpoints: e4m3 weights, scales in a grid (or one a row, or one in all) ----

/// The block length whose grid over `extent` has `cells` cells, 0 if none. The grid says it, not the config: 128 first, then the other
/// powers of two. Anything else is taken for a damaged grid: 576 rows with 4 cells are 128-row blocks whose last was lost, not blocks of 144.
int blockFor(std::uint64_t extent, std::uint64_t cells) {
  if (cells == 0 || cells > extent) return 0;
  if (ceilDiv(extent, kFp8Block) == cells) return kFp8Block;
  if (cells == 1) return int(extent);
  if (cells == extent) return 1;
  for (std::uint64_t block = 2; block < extent; block *= 2)
    if (ceilDiv(extent, block) == cells) return int(block);
  return 0;
}

/// Fills the block and scale fields of an FP8 matrix, or of a stack of `count` of them (0: not stacked).
Result<Done> readFp8Scales(const TensorDirectory& directory, const TensorEntry& entry, int count, MatrixLayout& out) {
  const TensorEntry* scales = scalesOf(directory, entry.name);
  if (scales == nullptr) return Error{Errc::NotFound, fmt::format("tensor '{}_scale_inv'", entry.name)};
  const std::optional<ScaleFormat> format = scaleFormat(scales->dtype);
  if (!format) return unsupported(directory, *scales, fmt::format("holds scales as {}, which is not read; F32, BF16, F16 and F8_E8M0 are", scales->dtype_name));
  const auto rows = std::uint64_t(out.rows);
  int axis = 0;
  bool fits = true;
  if (count != 0) {
    fits = scales->rank >= 1 && scales->shape[0] == std::uint64_t(count);
    axis = 1;
  }
  const int grid_rank = scales->rank - axis;
  const std::uint64_t first = grid_rank >= 1 ? scales->shape[std::size_t(axis)] : 1;
  const std::uint64_t second = grid_rank >= 2 ? scales->shape[std::size_t(axis) + 1] : 1;
  // One dimension means one scale a row (or a single one): it is never a grid.
  if (grid_rank == 1) fits = fits && (first == rows || first == 1);
  fits = fits && grid_rank <= 2;
  out.block_rows = fits ? blockFor(rows, first) : 0;
  out.block_cols = fits ? blockFor(std::uint64_t(out.cols), second) : 0;
  if (grid_rank == 1 && first == rows) out.block_rows = 1;
  if (grid_rank <= 1) out.block_cols = out.cols;
  // One cell for more than 128 rows is a whole column only if the other axis says so too (one scale in all, one a column, blocks that large).
  const auto lone = [](int block, int extent, int other_block, int other_extent) {
    return block == extent && extent > kFp8Block && other_block != 1 && other_block != other_extent && other_block < extent;
  };
  if (lone(out.block_rows, out.rows, out.block_cols, out.cols) || lone(out.block_cols, out.cols, out.block_rows, out.rows)) out.block_rows = 0;
  if (out.block_rows == 0 || out.block_cols == 0)
    return corrupt(directory, *scales, fmt::format("has scales of shape {}, no grid over {} [{}, {}]; blocks of 128 x 128 would be [{}, {}]", shapeText(*scales),
                                                   entry.name, out.rows, out.cols, ceilDiv(rows, kFp8Block), ceilDiv(std::uint64_t(out.cols), kFp8Block)));
  out.scale_format = *format;
  out.scales = scales->data;
  return Done{};
}

// ---- colibri containers: packed codes as bytes, scales beside them as `.qs` ----

struct Candidate {
  const char* stamp;  // the name that a stamp gives it
  WeightFormat format;
  int group;
};

struct Packed {
  const TensorDirectory& directory;
  const TensorEntry& weights;
  const TensorEntry& scales;
  std::uint64_t rows, cols, bytes, count;  // of the scales

  std::uint64_t blocks() const { return ceilDiv(rows, kFp8Block) * ceilDiv(cols, kFp8Block); }
  bool holds(WeightFormat format) const { return bytes == rows * rowBytes(format, cols); }
  int int4Group() const {
    for (const int group : kInt4Groups)
      if (std::uint64_t(group) <= cols && count == rows * ceilDiv(cols, std::uint64_t(group))) return group;
    return 0;
  }

  /// Every format that these counts fit, the one that is meant without a stamp first: formats with a scale a row win over grouped ones
  /// and blocks, int4 over int3.
  std::vector<Candidate> candidates() const {
    std::vector<Candidate> fits;
    const bool one_a_row = count == rows;
    const bool f32_scales = scales.dtype == Dtype::F32;
    const bool codes = weights.dtype != Dtype::Fp8E4m3 && f32_scales;
    if (codes && holds(WeightFormat::Int8) && one_a_row) fits.push_back({"int8-row", WeightFormat::Int8, int(cols)});
    if (codes && holds(WeightFormat::Int4) && one_a_row) fits.push_back({"int4-row", WeightFormat::Int4, int(cols)});
    if (codes && holds(WeightFormat::Int2) && one_a_row) fits.push_back({"int2-row", WeightFormat::Int2, int(cols)});
    if (codes && holds(WeightFormat::Int4) && count > rows && int4Group() != 0) fits.push_back({"int4-grouped", WeightFormat::Int4, int4Group()});
    if (codes && holds(WeightFormat::Int3) && count == rows * ceilDiv(cols, kInt3Group)) fits.push_back({"int3-g64", WeightFormat::Int3, kInt3Group});
    if (holds(WeightFormat::Fp8) && count == blocks()) fits.push_back({"fp8-e4m3-b128", WeightFormat::Fp8, 0});
    return fits;
  }

  /// Formats of other numbers, known by name only.
  const char* unreadFormat() const {
    if (scales.dtype == Dtype::F32 && count == 1 && rows > 1 && bytes == rows * ceilDiv(cols, 256) * 98) return "e8-iq3-lattice (fmt 6)";
    if (dtypeBytes(scales.dtype) == 1 && holds(WeightFormat::Int4) && count == rows * ceilDiv(cols, 32)) return "mxfp4 (fmt 7)";
    return nullptr;
  }

  Error mismatch() const {
    return corrupt(directory, weights,
                   fmt::format("has {} bytes and {} scales, which fits no format for [{}, {}]: int8 has {} bytes, int4 {}, int3 {}, int2 {}, and scales are {}, {} "
                               "(groups of 64) or {} (blocks of 128 x 128); copy the file again",
                               bytes, count, rows, cols, rows * cols, rows * rowBytes(WeightFormat::Int4, cols), rows * rowBytes(WeightFormat::Int3, cols),
                               rows * rowBytes(WeightFormat::Int2, cols), rows, rows * ceilDiv(cols, 64), blocks()));
  }
};

/// True when a stamp's name means this candidate. One group that spans the row is a scale a row too.
bool means(std::string_view stamp, const Candidate& candidate) {
  return stamp == candidate.stamp || (stamp == "int4-grouped" && std::string_view(candidate.stamp) == "int4-row");
}

Result<Candidate> choose(const Packed& packed) {
  const std::string_view stamp = packed.directory.stampOf(packed.weights.name);
  for (const char* unread : {"e8-iq3-lattice", "mxfp4", "int4-rans256-g0", "int4-rans256"})
    if (stamp == unread) {
      const char* number = stamp == "e8-iq3-lattice" ? " (fmt 6)" : stamp == "mxfp4" ? " (fmt 7)" : "";
      return unsupported(packed.directory, packed.weights, fmt::format("is stored as {}{}, which is not read yet; convert it to int4 groups of 64", stamp, number));
    }
  const std::vector<Candidate> fits = packed.candidates();
  if (stamp.empty()) {
    if (!fits.empty()) return fits.front();
    if (const char* unread = packed.unreadFormat(); unread != nullptr)
      return unsupported(packed.directory, packed.weights, fmt::format("is stored as {}, which is not read yet; convert it to int4 groups of 64", unread));
    return packed.mismatch();
  }
  for (const Candidate& candidate : fits)
    if (means(stamp, candidate)) return candidate;
  for (const char* known : {"int8-row", "int4-row", "int2-row", "int4-grouped", "int3-g64", "fp8-e4m3-b128"})
    if (stamp == known)
      return corrupt(packed.directory, packed.weights,
                     fmt::format("is stamped {}, but its {} bytes and {} scales for [{}, {}] {}; copy the file again", stamp, packed.bytes, packed.count, packed.rows,
                                 packed.cols, fits.empty() ? std::string("fit no format") : fmt::format("are those of {}", fits.front().stamp)));
  return unsupported(packed.directory, packed.weights, fmt::format("is stamped '{}', a format that is not known here", printable(stamp)));
}

/// Packed bytes carry any shape of one dimension; two must be the matrix, as elements or as bytes.
bool plausibleShape(const TensorEntry& weights, std::uint64_t rows, std::uint64_t cols, std::uint64_t row_bytes) {
  return weights.rank == 1 || hasShape(weights, {rows, cols}) || hasShape(weights, {rows, row_bytes});
}

/// `scales` must hold whole scales.
Packed packedOf(const TensorDirectory& directory, const TensorEntry& weights, const TensorEntry& scales, int rows, int cols) {
  return {directory, weights, scales, std::uint64_t(rows), std::uint64_t(cols), weights.data.bytes, scales.data.bytes / dtypeBytes(scales.dtype)};
}

Result<MatrixLayout> packedLayout(const TensorDirectory& directory, const TensorEntry& weights, const TensorEntry& scales, int rows, int cols) {
  const std::uint64_t scale_bytes = dtypeBytes(scales.dtype);
  if (scales.dtype != Dtype::F32 && scale_bytes != 1)
    return unsupported(directory, scales, fmt::format("holds a container's scales as {}, which is not read; they are F32", scales.dtype_name));
  if (scales.data.bytes % scale_bytes != 0) return corrupt(directory, scales, fmt::format("has {} bytes, no whole number of scales", scales.data.bytes));
  const Packed packed = packedOf(directory, weights, scales, rows, cols);
  const Candidate chosen = TRY(choose(packed));
  const std::uint64_t row_bytes = rowBytes(chosen.format, packed.cols);
  if (!plausibleShape(weights, packed.rows, packed.cols, row_bytes))
    return corrupt(directory, weights, fmt::format("has shape {}, [{}, {}] or its bytes [{}, {}] were expected", shapeText(weights), rows, cols, rows, row_bytes));
  MatrixLayout out;
  out.format = chosen.format;
  out.rows = rows;
  out.cols = cols;
  out.group = chosen.group;
  std::uint64_t scale_rows = packed.rows;
  if (chosen.format == WeightFormat::Fp8) {
    out.block_rows = out.block_cols = kFp8Block;
    scale_rows = ceilDiv(packed.rows, kFp8Block);
  }
  if (scales.rank >= 2 && !hasShape(scales, {scale_rows, packed.count / scale_rows}))
    return corrupt(directory, scales, fmt::format("has scales of shape {}, [{}, {}] was expected", shapeText(scales), scale_rows, packed.count / scale_rows));
  out.data = weights.data;
  out.scale_format = scale_bytes == 1 ? ScaleFormat::E8m0 : ScaleFormat::F32;
  out.scales = scales.data;
  return out;
}

/// A float tensor whose stamp names packed codes contradicts itself.
Result<Done> checkFloatStamp(const TensorDirectory& directory, const TensorEntry& entry) {
  const std::string_view stamp = directory.stampOf(entry.name);
  if (stamp.empty() || stamp.starts_with("f32") || stamp.starts_with("bf16") || stamp.starts_with("f16")) return Done{};
  return corrupt(directory, entry, fmt::format("is stamped {}, but is stored as {}; copy the file again", printable(stamp), entry.dtype_name));
}

Error notRead(const TensorDirectory& directory, const TensorEntry& entry) {
  return unsupported(directory, entry, fmt::format("is of dtype {}, which is not read as weights; F32, BF16, F16, F8_E4M3 and a container's U8 are", entry.dtype_name));
}

std::string fp8Name(const MatrixLayout& matrix) {
  const bool whole_row = matrix.block_cols >= matrix.cols && matrix.block_cols != kFp8Block;
  if (whole_row && matrix.block_rows == 1) return "fp8-row";
  if (whole_row && matrix.block_rows >= matrix.rows) return "fp8-tensor";
  return fmt::format("fp8-{}x{}", matrix.block_rows, matrix.block_cols);
}

}  // namespace

std::string missingPart(const TensorDirectory& directory, const std::string& name) {
  const TensorEntry* entry = directory.find(name);
  if (entry == nullptr) return name;
  if (directory.find(name + ".qs") != nullptr || scalesOf(directory, name) != nullptr) return {};
  if (entry->dtype == Dtype::U8 || entry->dtype == Dtype::I8) return name + ".qs";
  if (entry->dtype == Dtype::Fp8E4m3) return name + "_scale_inv";
  return {};
}

Result<MatrixLayout> matrixLayout(const TensorDirectory& directory, const std::string& name, int rows, int cols) {
  CHECK(rows > 0 && cols > 0 && rows <= 1 << 26 && cols <= 1 << 26);
  if (const std::string missing = missingPart(directory, name); !missing.empty()) return Error{Errc::NotFound, fmt::format("tensor '{}'", missing)};
  const TensorEntry& entry = *directory.find(name);
  const TensorEntry* codes_scales = directory.find(name + ".qs");
  const bool one_byte = entry.dtype == Dtype::U8 || entry.dtype == Dtype::I8 || entry.dtype == Dtype::Fp8E4m3;
  if (codes_scales != nullptr) {
    if (!one_byte)
      return corrupt(directory, entry, fmt::format("is stored as {}, yet has scales '{}.qs' as packed codes have; copy the file again", entry.dtype_name, name));
    return packedLayout(directory, entry, *codes_scales, rows, cols);
  }
  if (entry.dtype == Dtype::U8 || entry.dtype == Dtype::I8)
    return unsupported(directory, entry, fmt::format("is {} with scales beside it in another way than '.qs': a packed checkpoint that is not read; convert it", entry.dtype_name));
  const std::optional<WeightFormat> floats = floatFormat(entry.dtype);
  if (!floats && entry.dtype != Dtype::Fp8E4m3) return notRead(directory, entry);
  if (!hasShape(entry, {std::uint64_t(rows), std::uint64_t(cols)}))
    return corrupt(directory, entry, fmt::format("has shape {}, the config asks for [{}, {}]", shapeText(entry), rows, cols));
  MatrixLayout out;
  out.rows = rows;
  out.cols = cols;
  out.data = entry.data;
  if (floats) {
    TRY(checkFloatStamp(directory, entry));
    out.format = *floats;
    std::string scales_name;
    if (scalesOf(directory, name, &scales_name) != nullptr)
      return corrupt(directory, entry, fmt::format("is stored as {}, yet has scales '{}'; copy the files again", entry.dtype_name, scales_name));
    return out;
  }
  out.format = WeightFormat::Fp8;
  TRY(readFp8Scales(directory, entry, 0, out));
  return out;
}

std::vector<std::string> rivalFormats(const TensorDirectory& directory, const std::string& name, int rows, int cols) {
  const TensorEntry* weights = directory.find(name);
  const TensorEntry* scales = directory.find(name + ".qs");
  if (weights == nullptr || scales == nullptr || dtypeBytes(scales->dtype) == 0 || !directory.stampOf(name).empty()) return {};
  std::vector<std::string> out;
  for (const Candidate& candidate : packedOf(directory, *weights, *scales, rows, cols).candidates()) out.emplace_back(candidate.stamp);
  if (!out.empty()) out.erase(out.begin());
  return out;
}

Result<VectorLayout> vectorLayout(const TensorDirectory& directory, const std::string& name, int length) {
  const TensorEntry* entry = directory.find(name);
  if (entry == nullptr) return Error{Errc::NotFound, fmt::format("tensor '{}'", name)};
  const std::optional<WeightFormat> format = floatFormat(entry->dtype);
  if (!format) return unsupported(directory, *entry, fmt::format("is of dtype {}, norms and biases are read as F32, BF16 and F16", entry->dtype_name));
  if (!hasShape(*entry, {std::uint64_t(length)}))
    return corrupt(directory, *entry, fmt::format("has shape {}, the config asks for [{}]", shapeText(*entry), length));
  TRY(checkFloatStamp(directory, *entry));
  return VectorLayout{*format, length, entry->data};
}

Result<MatrixLayout> stackedMatrixLayout(const TensorDirectory& directory, const std::string& name, int count, int rows, int cols, int index) {
  CHECK(0 <= index && index < count);
  if (const std::string missing = missingPart(directory, name); !missing.empty()) return Error{Errc::NotFound, fmt::format("tensor '{}'", missing)};
  const TensorEntry& entry = *directory.find(name);
  const std::optional<WeightFormat> floats = floatFormat(entry.dtype);
  if (!floats && entry.dtype != Dtype::Fp8E4m3) return notRead(directory, entry);
  if (!hasShape(entry, {std::uint64_t(count), std::uint64_t(rows), std::uint64_t(cols)}))
    return corrupt(directory, entry, fmt::format("has shape {}, the config asks for [{}, {}, {}]", shapeText(entry), count, rows, cols));
  MatrixLayout out;
  out.format = floats.value_or(WeightFormat::Fp8);
  out.rows = rows;
  out.cols = cols;
  if (out.format == WeightFormat::Fp8) {
    TRY(readFp8Scales(directory, entry, count, out));
    out.scales.bytes /= std::uint64_t(count);
    out.scales.offset += out.scales.bytes * std::uint64_t(index);
  }
  const std::uint64_t bytes = entry.data.bytes / std::uint64_t(count);
  out.data = {entry.data.file, entry.data.offset + bytes * std::uint64_t(index), bytes};
  return out;
}

Result<MatrixLayout> rowsOf(const MatrixLayout& matrix, int begin, int rows, const std::string& name) {
  CHECK(!isInteger(matrix.format) && 0 <= begin && 0 < rows && begin + rows <= matrix.rows);
  MatrixLayout out = matrix;
  const std::uint64_t row_bytes = rowBytes(matrix.format, std::uint64_t(matrix.cols));
  out.rows = rows;
  out.data.offset += std::uint64_t(begin) * row_bytes;
  out.data.bytes = std::uint64_t(rows) * row_bytes;
  if (matrix.format == WeightFormat::Fp8 && matrix.block_rows < matrix.rows) {
    const int end = begin + rows;
    if (begin % matrix.block_rows != 0 || (end % matrix.block_rows != 0 && end != matrix.rows))
      return Error{Errc::Unsupported, fmt::format("tensor '{}' is FP8 with blocks of {} rows that straddle its gate and up halves of {} rows; that is not read, split its experts",
                                                  name, matrix.block_rows, rows)};
    const std::uint64_t grid_rows = ceilDiv(std::uint64_t(matrix.rows), std::uint64_t(matrix.block_rows));
    const std::uint64_t grid_row_bytes = matrix.scales.bytes / grid_rows;
    out.scales.offset += std::uint64_t(begin / matrix.block_rows) * grid_row_bytes;
    out.scales.bytes = ceilDiv(std::uint64_t(rows), std::uint64_t(matrix.block_rows)) * grid_row_bytes;
  }
  return out;
}

std::string formatName(const MatrixLayout& matrix) {
  const auto grouped = [&](const char* kind) {
    return matrix.group >= matrix.cols && matrix.format != WeightFormat::Int3 ? fmt::format("{}-row", kind) : fmt::format("{}-g{}", kind, matrix.group);
  };
  switch (matrix.format) {
    case WeightFormat::F32: return "f32";
    case WeightFormat::Bf16: return "bf16";
    case WeightFormat::F16: return "f16";
    case WeightFormat::Fp8: return fp8Name(matrix);
    case WeightFormat::Int8: return grouped("int8");
    case WeightFormat::Int4: return grouped("int4");
    case WeightFormat::Int3: return grouped("int3");
    case WeightFormat::Int2: return grouped("int2");
  }
  UNREACHABLE();
}

std::string formatName(const VectorLayout& vector) {
  MatrixLayout matrix;
  matrix.format = vector.format;
  return formatName(matrix);
}

Bytes bytesOf(const MatrixLayout& matrix) { return Bytes(matrix.data.bytes + matrix.scales.bytes); }

}  // namespace sluice
