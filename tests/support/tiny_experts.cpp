#include "tests/support/tiny_experts.h"

#include <cmath>
#include <cstring>
#include <fstream>

#include "core/base/check.h"
#include "core/base/file.h"
#include "core/base/rng.h"

namespace sluice {
namespace {

std::uint64_t bytesPerScale(ScaleFormat format) {
  switch (format) {
    case ScaleFormat::None: return 0;
    case ScaleFormat::F32: return 4;
    case ScaleFormat::Bf16:
    case ScaleFormat::F16: return 2;
    case ScaleFormat::E8m0: return 1;
  }
  return 0;
}

// By powers of two and double arithmetic, unlike the product's bit tricks.
double scaleValue(ScaleFormat format, const char* bytes) {
  if (format == ScaleFormat::F32) {
    float value = 0;
    std::memcpy(&value, bytes, 4);
    return double(value);
  }
  const unsigned low = static_cast<unsigned char>(bytes[0]);
  if (format == ScaleFormat::E8m0) return low == 255 ? NAN : std::ldexp(1.0, int(low) - 127);
  const unsigned code = low | unsigned(static_cast<unsigned char>(bytes[1])) << 8;
  const double sign = (code & 0x8000u) != 0 ? -1.0 : 1.0;
  const int mantissa_bits = format == ScaleFormat::Bf16 ? 7 : 10;
  const int bias = format == ScaleFormat::Bf16 ? 127 : 15;
  const int exponent_max = format == ScaleFormat::Bf16 ? 255 : 31;
  const int exponent = int((code & 0x7fffu) >> mantissa_bits);
  const double fraction = double(code & ((1u << mantissa_bits) - 1)) / double(1u << mantissa_bits);
  if (exponent == exponent_max) return fraction == 0 ? sign * INFINITY : NAN;
  if (exponent == 0) return sign * std::ldexp(fraction, 1 - bias);
  return sign * std::ldexp(1.0 + fraction, exponent - bias);
}

}  // namespace

ModelFile modelFileAt(const std::filesystem::path& path) {
  const FileIdentity identity = identityAt(path).value();
  return {path, identity.size, identity.device, identity.inode, identity.modified_ns};
}

// As a colibri container lies: all scales of a file before all weights, an expert's three matrices side by side as down, gate, up.
TinyExperts::TinyExperts(const std::filesystem::path& directory, std::uint64_t seed, const TinySpec& spec) {
  Rng rng(seed);
  const std::uint32_t file_count = spec.split ? 2 : 1;
  contents_.resize(file_count);
  const auto append = [&](std::uint32_t file, std::uint64_t bytes) {
    Extent extent{file, contents_[file].size(), bytes};
    for (std::uint64_t i = 0; i < bytes; ++i) contents_[file].push_back(char(rng.next()));
    return extent;
  };
  for (std::uint32_t file = 0; file < file_count; ++file) append(file, spec.shift);
  layers_.resize(std::size_t(spec.layers + (spec.draft_layer ? 1 : 0)));
  for (std::size_t layer = 1; layer < layers_.size(); ++layer) {
    layers_[layer].resize(std::size_t(spec.experts));
    const bool draft = spec.draft_layer && layer + 1 == layers_.size();
    for (ExpertLayout& expert : layers_[layer])
      for (MatrixLayout* const m : {&expert.gate, &expert.up, &expert.down}) {
        m->format = draft ? WeightFormat::Int8 : WeightFormat::Int4;
        m->rows = m == &expert.down ? spec.hidden : spec.inter;
        m->cols = m == &expert.down ? spec.inter : spec.hidden;
        m->group = 32;
        m->scale_format = spec.scales;
      }
  }
  const auto place = [&](bool scales) {
    for (std::vector<ExpertLayout>& layer : layers_)
      for (std::size_t expert = 0; expert < layer.size(); ++expert)
        for (MatrixLayout* const m : {&layer[expert].down, &layer[expert].gate, &layer[expert].up}) {
          const std::uint32_t file = spec.split ? std::uint32_t(expert % 2) : 0;
          if (scales) {
            m->scales = append(file, std::uint64_t(m->rows) * std::uint64_t((m->cols + m->group - 1) / m->group) * bytesPerScale(m->scale_format));
          } else {
            m->data = append(file, std::uint64_t(m->rows) * rowBytes(m->format, std::uint64_t(m->cols)));
          }
        }
  };
  place(true);
  place(false);
  for (std::uint32_t file = 0; file < file_count; ++file) {
    const std::filesystem::path path = directory / ("out-0000" + std::to_string(file) + ".safetensors");
    std::ofstream(path, std::ios::binary) << contents_[file];
    files_.push_back(modelFileAt(path));
    CHECK(files_.back().size == contents_[file].size());
  }
}

std::vector<std::span<const ExpertLayout>> TinyExperts::layers() const { return {layers_.begin(), layers_.end()}; }

std::string TinyExperts::difference(LayerId layer, ExpertId expert, const ExpertWeights& weights) const {
  const ExpertLayout& l = layout(layer, expert);
  for (const std::string& found : {differenceOf(l.gate, weights.gate), differenceOf(l.up, weights.up), differenceOf(l.down, weights.down)})
    if (!found.empty()) return "layer " + std::to_string(layer.value()) + " expert " + std::to_string(expert.value()) + ": " + found;
  return {};
}

std::string TinyExperts::differenceOf(const MatrixLayout& layout, const WeightMatrix& matrix) const {
  if (matrix.rows != layout.rows || matrix.cols != layout.cols || matrix.group != layout.group || matrix.format != layout.format) return "shape";
  if (std::memcmp(matrix.data, contents_[layout.data.file].data() + layout.data.offset, layout.data.bytes) != 0) return "weights";
  if (reinterpret_cast<std::uintptr_t>(matrix.scales) % 4 != 0) return "alignment of scales";
  const std::uint64_t width = bytesPerScale(layout.scale_format);
  for (std::uint64_t i = 0; i * width < layout.scales.bytes; ++i) {
    const double want = scaleValue(layout.scale_format, contents_[layout.scales.file].data() + layout.scales.offset + i * width);
    const double have = double(matrix.scales[i]);
    if (have != want && !(std::isnan(have) && std::isnan(want))) return "scale " + std::to_string(i);
  }
  return {};
}

}  // namespace sluice
