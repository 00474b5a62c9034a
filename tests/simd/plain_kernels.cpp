#include "tests/simd/plain_kernels.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "core/base/half.h"

namespace sluice {
namespace {
namespace words {

#include "simd/scalar_vocabulary.inl"

#include "simd/activation.inl"

}  // namespace words
}  // namespace

float plain::exponential(float x) { return words::exp16(words::splat(x)).v[0]; }
float plain::fusedOne(float a, float b, float c) { return words::fusedOne(a, b, c); }

}  // namespace sluice

namespace sluice::plain {
namespace {

int byteAt(const WeightMatrix& w, std::uint64_t at) { return int(w.data[at]); }

std::uint16_t wordAt(const WeightMatrix& w, std::uint64_t at) { return std::uint16_t(byteAt(w, at) | (byteAt(w, at + 1) << 8)); }

float floatFrom(const void* p, std::uint64_t index) {
  float f;
  std::memcpy(&f, static_cast<const char*>(p) + 4 * index, 4);
  return f;
}

int groupsOf(int n, int group) { return (n + group - 1) / group; }

}  // namespace

float codeOf(const WeightMatrix& w, int row, int col) {
  const std::uint64_t begin = std::uint64_t(row) * rowBytes(w.format, std::uint64_t(w.cols)), c = std::uint64_t(col);
  switch (w.format) {
    case WeightFormat::F32: return floatFrom(w.data + begin, c);
    case WeightFormat::Bf16: return bf16ToFloat(wordAt(w, begin + 2 * c));
    case WeightFormat::F16: return f16ToFloat(wordAt(w, begin + 2 * c));
    case WeightFormat::Fp8: return e4m3ToFloat(std::uint8_t(byteAt(w, begin + c)));
    case WeightFormat::Int8: return float(std::int8_t(byteAt(w, begin + c)));
    case WeightFormat::Int4: return float((col % 2 == 0 ? byteAt(w, begin + c / 2) % 16 : byteAt(w, begin + c / 2) / 16) - 8);
    case WeightFormat::Int3: {
      const std::uint64_t group = begin + c / 64 * 24, k = c % 64;
      const int low = (byteAt(w, group + k / 4) >> (2 * (k % 4))) % 4, high = (byteAt(w, group + 16 + k / 8) >> (k % 8)) % 2;
      return float(low + 4 * high - 4);
    }
    case WeightFormat::Int2: return float((byteAt(w, begin + c / 4) >> (2 * (c % 4))) % 4 - 2);
  }
  return std::numeric_limits<float>::quiet_NaN();
}

float scaleOf(const WeightMatrix& w, int row, int col) {
  if (w.format == WeightFormat::Fp8) {
    return floatFrom(w.scales, std::uint64_t(row / w.block_rows) * std::uint64_t(groupsOf(w.cols, w.block_cols)) + std::uint64_t(col / w.block_cols));
  }
  if (!isInteger(w.format)) return 1.0f;
  if (w.group >= w.cols) return floatFrom(w.scales, std::uint64_t(row));
  return floatFrom(w.scales, std::uint64_t(row) * std::uint64_t(groupsOf(w.cols, w.group)) + std::uint64_t(col / w.group));
}

float valueOf(const WeightMatrix& w, int row, int col) {
  const bool scaled = isInteger(w.format) || w.format == WeightFormat::Fp8;
  return scaled ? codeOf(w, row, col) * scaleOf(w, row, col) : codeOf(w, row, col);
}

Quantised quantise(const std::vector<float>& x, int planes) {
  Quantised q;
  const float top = planes == 1 ? 127.0f : 32512.0f;
  for (std::size_t begin = 0; begin < x.size(); begin += 64) {
    const std::size_t end = std::min(x.size(), begin + 64);
    float most = 0.0f;
    bool finite = true;
    for (std::size_t i = begin; i < end; ++i) {
      finite = finite && std::isfinite(x[i]);
      most = std::fmax(most, std::fabs(x[i]));
    }
    float scale = finite ? most / top : std::numeric_limits<float>::quiet_NaN();
    if (finite && scale < std::numeric_limits<float>::min()) scale = 0.0f;
    q.scales.push_back(scale);
    for (std::size_t i = begin; i < end; ++i) q.codes.push_back(finite && scale > 0.0f ? int(std::nearbyint(x[i] * (1.0f / scale))) : 0);
  }
  return q;
}

float intProduct(const WeightMatrix& w, int row, const Quantised& x) {
  float acc = 0.0f;
  const int group = w.group >= w.cols ? w.cols : w.group;
  for (int col = 0; col < w.cols;) {
    const int end = std::min({w.cols, (col / 64 + 1) * 64, (col / group + 1) * group});
    const float scale = scaleOf(w, row, col) * x.scales[std::size_t(col / 64)];
    int sum = 0;
    for (; col < end; ++col) sum += int(codeOf(w, row, col)) * x.codes[std::size_t(col)];
    acc = std::fma(float(sum), scale, acc);
  }
  return acc;
}

float dot16(const std::vector<float>& a, const std::vector<float>& b) {
  float lanes[16] = {};
  for (std::size_t i = 0; i < a.size(); ++i) lanes[i % 16] = std::fma(a[i], b[i], lanes[i % 16]);
  for (int width = 8; width > 0; width /= 2) {
    for (int i = 0; i < width; ++i) lanes[i] = lanes[i] + lanes[i + width];
  }
  return lanes[0];
}

std::vector<float> rowOf(const WeightMatrix& w, int row) {
  std::vector<float> out;
  for (int col = 0; col < w.cols; ++col) out.push_back(valueOf(w, row, col));
  return out;
}

std::vector<float> transposedProduct(const WeightMatrix& w, int row_begin, int row_end, const std::vector<float>& x) {
  std::vector<float> y(std::size_t(w.cols), 0.0f);
  for (int row = row_begin; row < row_end; ++row) {
    for (int col = 0; col < w.cols; ++col) {
      y[std::size_t(col)] = std::fma(x[std::size_t(row - row_begin)], valueOf(w, row, col), y[std::size_t(col)]);
    }
  }
  return y;
}

std::vector<float> softmax(std::vector<float> x) {
  float most = -std::numeric_limits<float>::infinity(), sum = 0.0f;
  for (const float v : x) most = v > most ? v : most;
  for (float& v : x) v = exponential(v - most);
  for (const float v : x) sum += v;
  for (float& v : x) v /= sum;
  return x;
}

}  // namespace sluice::plain
