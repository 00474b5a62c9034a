// Goal:   float products of every format have one value on every table.
// Method: every table against the scalar one to the bit, the scalar one against tests/simd/plain_kernels; buffers end at a guard page.

#include <gtest/gtest.h>

#include <cstdio>
#include <memory>

#include "simd/dispatch.h"
#include "tests/simd/kernel_cases.h"
#include "tests/simd/plain_kernels.h"

namespace sluice {
namespace {

using test::Guarded;
using test::Matrix;
using test::Table;
using Rows = std::vector<std::vector<float>>;

class FloatProduct : public testing::TestWithParam<Table> {
 protected:
  void SetUp() override {
    if (!GetParam().why_not.empty()) GTEST_SKIP() << GetParam().name << ": " << GetParam().why_not;
  }
};

/// Rows of floats, each ending at a guard page.
struct GuardedRows {
  std::vector<std::unique_ptr<Guarded>> buffers;
  std::vector<const float*> inputs;
  std::vector<float*> outputs;
  explicit GuardedRows(const Rows& rows) {
    for (const std::vector<float>& row : rows) {
      buffers.push_back(std::make_unique<Guarded>(row.size() * 4));
      if (!row.empty()) std::memcpy(buffers.back()->data(), row.data(), row.size() * 4);
      inputs.push_back(buffers.back()->floats());
      outputs.push_back(buffers.back()->floats());
    }
  }
  std::vector<float> all() const {
    std::vector<float> v;
    for (const auto& b : buffers) v.insert(v.end(), b->floats(), b->floats() + b->bytes() / 4);
    return v;
  }
};

std::vector<float> forward(const Kernels& k, const WeightMatrix& w, const Rows& x, int begin, int end) {
  const GuardedRows in(x);
  GuardedRows out(Rows(x.size(), std::vector<float>(std::size_t(w.rows), 12345.0f)));
  k.float_product({&w, in.inputs.data(), out.outputs.data(), int(x.size()), begin, end});
  return out.all();
}
std::vector<float> transposed(const Kernels& k, const WeightMatrix& w, const Rows& x, int begin, int end) {
  const GuardedRows in(x);
  GuardedRows out(Rows(x.size(), std::vector<float>(std::size_t(w.cols), 12345.0f)));
  k.transposed_product({&w, in.inputs.data(), out.outputs.data(), int(x.size()), begin, end});
  return out.all();
}
std::vector<float> row(const Kernels& k, const WeightMatrix& w, int r) {
  GuardedRows out(Rows(1, std::vector<float>(std::size_t(w.cols), 12345.0f)));
  k.dequantise_row({&w, r, out.outputs[0]});
  return out.all();
}

struct Shape {
  WeightFormat format;
  int group, cols, rows, x_rows;
  std::string text() const {
    return "format " + std::to_string(int(format)) + " group " + std::to_string(group) + " cols " + std::to_string(cols) + " rows " +
           std::to_string(rows) + " x_rows " + std::to_string(x_rows);
  }
};

template <class Body>
void forEveryShape(Body body) {
  std::size_t turn = 0;
  const auto cross = [&](int cols) {
    for (const WeightFormat format : test::kFormats) {
      const bool grouped = format == WeightFormat::Fp8 || isInteger(format);
      // Blocks of Fp8 need not be multiples of 16.
      const std::vector<int> groups = format == WeightFormat::Fp8 ? std::vector<int>{5, 16, 24, 128, 1000} : std::vector<int>{16, 48, 64, 128, 1 << 30};
      for (const int group : groups) {
        if (!grouped && group != groups[0]) continue;
        const int rows = test::kRowCounts[turn % std::size(test::kRowCounts)], x_rows = test::kXRows[turn / 3 % std::size(test::kXRows)];
        body(Shape{format, group, cols, rows, x_rows}, turn++);
      }
    }
  };
  for (int cols = 1; cols <= 200; cols += cols < 132 ? 1 : 5) cross(cols);
  for (const int cols : {255, 256, 257, 512, 1000}) cross(cols);
}

TEST_P(FloatProduct, EqualsScalarToTheBit_ForEveryFormatAndWidth) {
  const Kernels& scalar = kernelsFor(Isa::Scalar);
  const Kernels& mine = *GetParam().kernels;
  const bool is_scalar = &mine == &scalar;
  std::size_t cases = 0;
  forEveryShape([&](const Shape& shape, std::size_t turn) {
    if (testing::Test::HasFatalFailure()) return;
    Rng rng(turn);
    const bool specials = turn % 5 == 0;
    const Matrix m(shape.format, shape.rows, shape.cols, shape.group, rng, specials);
    const int begin = int(rng.below(std::uint64_t(shape.rows) / 2 + 1)), end = shape.rows - int(rng.below(2)) * (shape.rows - begin) / 3;
    Rows x, along;
    for (int s = 0; s < shape.x_rows; ++s) {
      x.push_back(test::someFloats(rng, shape.cols, specials && s % 2 == 1));
      along.push_back(test::someFloats(rng, end - begin, specials && s % 2 == 1));
    }
    std::vector<float> want_forward, want_along, want_row;
    if (is_scalar) {
      for (int s = 0; s < shape.x_rows; ++s) {
        for (int r = 0; r < shape.rows; ++r) {
          want_forward.push_back(begin <= r && r < end ? plain::dot16(plain::rowOf(m.w, r), x[std::size_t(s)]) : 12345.0f);
        }
        const std::vector<float> y = plain::transposedProduct(m.w, begin, end, along[std::size_t(s)]);
        want_along.insert(want_along.end(), y.begin(), y.end());
      }
      want_row = plain::rowOf(m.w, begin);
    } else {
      want_forward = forward(scalar, m.w, x, begin, end);
      want_along = transposed(scalar, m.w, along, begin, end);
      want_row = row(scalar, m.w, begin);
    }
    ASSERT_EQ(test::firstDifference(forward(mine, m.w, x, begin, end), want_forward), -1) << shape.text() << " seed " << turn;
    ASSERT_EQ(test::firstDifference(transposed(mine, m.w, along, begin, end), want_along), -1) << shape.text() << " seed " << turn;
    ASSERT_EQ(test::firstDifference(row(mine, m.w, begin), want_row), -1) << shape.text() << " seed " << turn;
    cases += 3;
  });
  std::printf("%s: %zu float products and rows compared\n", GetParam().name.c_str(), cases);
}

TEST_P(FloatProduct, WidensEveryCodeOfNarrowFormats) {
  // All 65536 halves and bf16, all 256 bytes: NaN for NaN, everything else by its bits.
  const Kernels& mine = *GetParam().kernels;
  for (const WeightFormat format : {WeightFormat::Bf16, WeightFormat::F16, WeightFormat::Fp8, WeightFormat::Int8}) {
    const bool two = format == WeightFormat::Bf16 || format == WeightFormat::F16;
    Rng rng(1);
    const int cols = two ? 65536 : 256;
    Matrix m(format, 1, cols, 256, rng);
    for (int i = 0; i < cols; ++i) {
      const std::uint16_t code = std::uint16_t(i);
      std::memcpy(m.data.data() + (two ? 2 * i : i), &code, two ? 2 : 1);
    }
    const std::vector<float> got = row(mine, m.w, 0);
    EXPECT_EQ(test::firstDifference(got, plain::rowOf(m.w, 0)), -1) << int(format);
  }
}

TEST_P(FloatProduct, NoticesOneBit) {
  const Kernels& mine = *GetParam().kernels;
  for (const WeightFormat format : test::kFormats) {
    Rng rng(7);
    Matrix m(format, 19, 100, 32, rng);
    const Rows x = {test::someFloats(rng, 100)}, along = {test::someFloats(rng, 19)};
    const std::vector<float> y = forward(mine, m.w, x, 0, 19), z = transposed(mine, m.w, along, 0, 19);
    m.data.data()[9 * rowBytes(format, 100) + 3] ^= std::byte(2);
    EXPECT_EQ(test::firstDifference(y, forward(mine, m.w, x, 0, 19)), 9) << int(format);
    EXPECT_GE(test::firstDifference(z, transposed(mine, m.w, along, 0, 19)), 0) << int(format);
  }
}

TEST_P(FloatProduct, IsTheSameForARowAlone_AndInABatch) {
  Rng rng(5);
  const Matrix m(WeightFormat::Bf16, 21, 333, 0, rng);
  Rows x;
  for (int s = 0; s < 40; ++s) x.push_back(test::someFloats(rng, 333));
  const std::vector<float> batch = forward(*GetParam().kernels, m.w, x, 0, 21);
  for (int s = 0; s < 40; ++s) {
    const std::vector<float> part(batch.begin() + s * 21, batch.begin() + (s + 1) * 21);
    ASSERT_EQ(test::firstDifference(forward(*GetParam().kernels, m.w, {x[std::size_t(s)]}, 0, 21), part), -1);
  }
}

INSTANTIATE_TEST_SUITE_P(On, FloatProduct, testing::ValuesIn(test::everyTable()), test::NameOfTable());

}  // namespace
}  // namespace sluice
