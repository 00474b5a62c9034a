#pragma once
// What the kernel tests share: the tables to compare, buffers that end where memory ends, and weight matrices of every format.

#include <sys/mman.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <map>
#include <memory>
#include <ostream>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/check.h"
#include "core/base/rng.h"
#include "core/ports/kernels.h"

namespace sluice::test {

/// A table under test, and why it cannot run here (empty: it can).
struct Table {
  std::string name;
  const Kernels* kernels;
  std::string why_not;
};
/// Every table of the build, and the two that few machines have once more with their instructions emulated.
std::vector<Table> everyTable();

/// Equal bits, or NaN on both sides.
inline bool same(float a, float b) {
  return std::bit_cast<std::uint32_t>(a) == std::bit_cast<std::uint32_t>(b) || (std::isnan(a) && std::isnan(b));
}
/// The index of the first difference, or -1.
inline int firstDifference(const std::vector<float>& a, const std::vector<float>& b) {
  if (a.size() != b.size()) return 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (!same(a[i], b[i])) return int(i);
  }
  return -1;
}

/// Bytes whose last one is the last before a page that no one may touch. 64-aligned when the size is a multiple of 64. What they hold at first is
/// what a buffer of that size held before: mappings are kept and handed out again, for mapping is all that these tests would do otherwise.
class Guarded {
 public:
  explicit Guarded(std::size_t bytes) : bytes_(bytes), pages_((bytes + kPage - 1) / kPage), base_(take(pages_)) {}
  ~Guarded() { kept()[pages_].push_back(base_); }
  Guarded(const Guarded&) = delete;
  Guarded& operator=(const Guarded&) = delete;
  std::byte* data() { return base_ + pages_ * kPage - bytes_; }
  const std::byte* data() const { return base_ + pages_ * kPage - bytes_; }
  float* floats() { return reinterpret_cast<float*>(data()); }
  const float* floats() const { return reinterpret_cast<const float*>(data()); }
  std::size_t bytes() const { return bytes_; }

 private:
  static constexpr std::size_t kPage = 4096;
  static std::map<std::size_t, std::vector<std::byte*>>& kept() {
    static std::map<std::size_t, std::vector<std::byte*>> pages;
    return pages;
  }
  static std::byte* take(std::size_t pages) {
    std::vector<std::byte*>& free = kept()[pages];
    if (!free.empty()) {
      std::byte* base = free.back();
      free.pop_back();
      return base;
    }
    void* p = mmap(nullptr, (pages + 1) * kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(p != MAP_FAILED);
    std::byte* base = static_cast<std::byte*>(p);
    CHECK(mprotect(base + pages * kPage, kPage, PROT_NONE) == 0);
    return base;
  }
  std::size_t bytes_, pages_;
  std::byte* base_;
};

/// Ordinary values, and with `specials` one in sixteen of those that break careless code.
inline float someFloat(Rng& rng, bool specials) {
  constexpr float kSpecials[] = {0.0f,
                                 -0.0f,
                                 1e-42f,
                                 -3e-45f,
                                 3.4e38f,
                                 -3.4e38f,
                                 1e-30f,
                                 -1e-30f,
                                 std::numeric_limits<float>::infinity(),
                                 -std::numeric_limits<float>::infinity(),
                                 std::numeric_limits<float>::quiet_NaN(),
                                 std::numeric_limits<float>::min()};
  if (specials && rng.below(16) == 0) return kSpecials[rng.below(std::size(kSpecials))];
  return float(rng.uniform() * 4.0 - 2.0);
}
inline std::vector<float> someFloats(Rng& rng, int n, bool specials = false) {
  std::vector<float> v(static_cast<std::size_t>(n));
  for (float& f : v) f = someFloat(rng, specials);
  return v;
}

/// For a parametrised test's name.
struct NameOfTable {
  template <class Info>
  std::string operator()(const Info& info) const {
    return info.param.name;
  }
};
inline void PrintTo(const Table& table, std::ostream* out) { *out << table.name; }

/// A matrix with its bytes in guarded buffers.
struct Matrix {
  WeightMatrix w;
  Guarded data, scales;
  Matrix(WeightFormat format, int rows, int cols, int group, Rng& rng, bool specials = false)
      : data(std::size_t(rows) * rowBytes(format, std::uint64_t(cols))), scales(4 * scalesOf(format, rows, cols, group)) {
    w.format = format;
    w.rows = rows;
    w.cols = cols;
    w.data = data.data();
    for (std::size_t i = 0; i < data.bytes(); ++i) data.data()[i] = std::byte(rng.next());
    if (format == WeightFormat::F32) {
      for (std::size_t i = 0; i < data.bytes() / 4; ++i) {
        const float f = someFloat(rng, specials);
        std::memcpy(data.data() + 4 * i, &f, 4);
      }
    } else if ((format == WeightFormat::Bf16 || format == WeightFormat::F16) && !specials) {
      for (std::size_t i = 0; i < data.bytes() / 2; ++i) {
        const std::uint32_t bits = std::uint32_t(rng.next()) & (format == WeightFormat::Bf16 ? 0x807fu : 0x83ffu);
        const std::uint32_t exponent = std::uint32_t(rng.below(8));
        const std::uint16_t code = std::uint16_t(bits | (format == WeightFormat::Bf16 ? (exponent + 121) << 7 : (exponent + 9) << 10));
        std::memcpy(data.data() + 2 * i, &code, 2);
      }
    } else if (format == WeightFormat::Fp8 && !specials) {
      for (std::size_t i = 0; i < data.bytes(); ++i) data.data()[i] &= std::byte(0xfe);
    }
    if (format == WeightFormat::Fp8) {
      w.block_rows = group / 2 + 1;
      w.block_cols = group;
    } else if (isInteger(format)) {
      w.group = group;
    } else {
      return;
    }
    w.scales = scales.floats();
    for (std::size_t i = 0; i < scales.bytes() / 4; ++i) {
      const float f = someFloat(rng, specials);
      std::memcpy(scales.data() + 4 * i, &f, 4);
    }
  }
  static std::size_t scalesOf(WeightFormat format, int rows, int cols, int group) {
    const auto parts = [](int n, int each) { return std::size_t((n + each - 1) / each); };
    if (format == WeightFormat::Fp8) return parts(rows, group / 2 + 1) * parts(cols, group);
    if (isInteger(format)) return std::size_t(rows) * (group >= cols ? 1 : parts(cols, group));
    return 0;
  }
};

inline constexpr WeightFormat kFormats[] = {WeightFormat::F32,  WeightFormat::Bf16, WeightFormat::F16,  WeightFormat::Fp8,
                                            WeightFormat::Int8, WeightFormat::Int4, WeightFormat::Int3, WeightFormat::Int2};
inline constexpr WeightFormat kIntegerFormats[] = {WeightFormat::Int8, WeightFormat::Int4, WeightFormat::Int3, WeightFormat::Int2};
inline constexpr int kXRows[] = {1, 2, 3, 4, 5, 8, 16, 17};
inline constexpr int kRowCounts[] = {1, 3, 7, 8, 9, 15, 16, 17, 33};

}  // namespace sluice::test
