#include "core/format/tensor_bytes.h"

#include <cmath>
#include <cstring>

#include <fmt/format.h>

#include "core/base/half.h"

namespace sluice {
namespace {

std::uint16_t wordAt(std::span<const std::byte> bytes, std::size_t index) {
  std::uint16_t word = 0;
  std::memcpy(&word, bytes.data() + index * sizeof word, sizeof word);
  return word;
}

ScaleFormat asScales(WeightFormat format) {
  switch (format) {
    case WeightFormat::F32: return ScaleFormat::F32;
    case WeightFormat::Bf16: return ScaleFormat::Bf16;
    case WeightFormat::F16: return ScaleFormat::F16;
    case WeightFormat::Fp8:
    case WeightFormat::Int8:
    case WeightFormat::Int4:
    case WeightFormat::Int3:
    case WeightFormat::Int2: break;
  }
  UNREACHABLE();
}

}  // namespace

Result<TensorReader> TensorReader::open(std::span<const ModelFile> files) {
  TensorReader out;
  for (const ModelFile& file : files) {
    OwnedFd fd = TRY(openRead(file.path));
    const FileIdentity now = TRY(identityOf(fd, file.path));
    if (now != FileIdentity{file.size, file.device, file.inode, file.modified_ns})
      return Error{Errc::Corrupt, fmt::format("{} changed since its header was read ({} bytes then, {} now); load the model again", file.path.string(), file.size, now.size)};
    out.files_.push_back(file);
    out.descriptors_.push_back(std::move(fd));
  }
  return out;
}

Result<Done> TensorReader::read(const Extent& extent, std::span<std::byte> out) const {
  CHECK(extent.file < files_.size() && out.size() == extent.bytes);
  return readExactly(descriptors_[extent.file], files_[extent.file].path, extent.offset, out);
}

Result<Done> TensorReader::readVector(const VectorLayout& vector, std::span<float> out) const {
  CHECK(out.size() == std::size_t(vector.length));
  std::vector<std::byte> stored(vector.data.bytes);
  TRY(read(vector.data, stored));
  decodeScales(asScales(vector.format), stored, out);
  for (std::size_t i = 0; i < out.size(); ++i)
    if (!std::isfinite(out[i]))
      return Error{Errc::Numeric, fmt::format("{}: value {} of the vector at byte {} is not finite; copy the file again",
                                              files_[vector.data.file].path.string(), i, vector.data.offset)};
  return Done{};
}

Result<Done> TensorReader::readScales(const MatrixLayout& matrix, std::span<float> out) const {
  CHECK(out.size() == scaleCount(matrix));
  std::vector<std::byte> stored(matrix.scales.bytes);
  TRY(read(matrix.scales, stored));
  decodeScales(matrix.scale_format, stored, out);
  for (std::size_t i = 0; i < out.size(); ++i)
    if (!std::isfinite(out[i]))
      return Error{Errc::Numeric, fmt::format("{}: scale {} of the matrix at byte {} is {}, not a finite number; copy the file again",
                                              files_[matrix.scales.file].path.string(), i, matrix.scales.offset, out[i])};
  return Done{};
}

std::uint64_t scaleCount(const MatrixLayout& matrix) {
  const auto cells = [](int extent, int block) { return (std::uint64_t(extent) + std::uint64_t(block) - 1) / std::uint64_t(block); };
  if (isInteger(matrix.format)) return std::uint64_t(matrix.rows) * cells(matrix.cols, matrix.group);
  if (matrix.format == WeightFormat::Fp8) return cells(matrix.rows, matrix.block_rows) * cells(matrix.cols, matrix.block_cols);
  return 0;
}

void decodeScales(ScaleFormat format, std::span<const std::byte> stored, std::span<float> out) {
  switch (format) {
    case ScaleFormat::None: return;
    case ScaleFormat::F32:
      CHECK(stored.size() == out.size() * sizeof(float));
      if (!out.empty()) std::memcpy(out.data(), stored.data(), stored.size());
      return;
    case ScaleFormat::Bf16:
      CHECK(stored.size() == out.size() * 2);
      for (std::size_t i = 0; i < out.size(); ++i) out[i] = bf16ToFloat(wordAt(stored, i));
      return;
    case ScaleFormat::F16:
      CHECK(stored.size() == out.size() * 2);
      for (std::size_t i = 0; i < out.size(); ++i) out[i] = f16ToFloat(wordAt(stored, i));
      return;
    case ScaleFormat::E8m0:
      CHECK(stored.size() == out.size());
      for (std::size_t i = 0; i < out.size(); ++i) out[i] = e8m0ToFloat(std::to_integer<std::uint8_t>(stored[i]));
      return;
  }
  UNREACHABLE();
}

}  // namespace sluice
