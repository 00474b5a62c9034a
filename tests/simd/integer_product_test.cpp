// Goal:   integer products have one value, whatever the table, the batch and the place of a row in it.
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

class IntegerProduct : public testing::TestWithParam<Table> {
 protected:
  void SetUp() override {
    if (!GetParam().why_not.empty()) GTEST_SKIP() << GetParam().name << ": " << GetParam().why_not;
  }
};

/// Quantises the rows with `k` and multiplies; rows outside [begin, end) keep the mark 12345.
std::vector<float> product(const Kernels& k, const WeightMatrix& w, const std::vector<std::vector<float>>& x, int planes, int begin, int end) {
  std::vector<std::unique_ptr<Guarded>> rows;
  std::vector<const std::byte*> codes;
  std::vector<std::vector<float>> y(x.size(), std::vector<float>(std::size_t(w.rows), 12345.0f));
  std::vector<float*> outputs;
  for (std::size_t s = 0; s < x.size(); ++s) {
    Guarded input(std::size_t(w.cols) * 4);
    std::memcpy(input.data(), x[s].data(), input.bytes());
    rows.push_back(std::make_unique<Guarded>(k.activation_bytes(w.cols, planes)));
    // In two parts, the later one first, as two threads may.
    const int middle = w.cols / 2 / 64 * 64;
    k.quantise({input.floats(), rows.back()->data(), w.cols, planes, middle, w.cols});
    if (middle > 0) k.quantise({input.floats(), rows.back()->data(), w.cols, planes, 0, middle});
    codes.push_back(rows.back()->data());
    outputs.push_back(y[s].data());
  }
  k.int_product({&w, codes.data(), outputs.data(), int(x.size()), planes, begin, end});
  std::vector<float> all;
  for (const std::vector<float>& row : y) all.insert(all.end(), row.begin(), row.end());
  return all;
}

std::vector<float> plainProduct(const WeightMatrix& w, const std::vector<std::vector<float>>& x, int planes, int begin, int end) {
  std::vector<float> all;
  for (const std::vector<float>& row : x) {
    const plain::Quantised q = plain::quantise(row, planes);
    for (int o = 0; o < w.rows; ++o) all.push_back(begin <= o && o < end ? plain::intProduct(w, o, q) : 12345.0f);
  }
  return all;
}

struct Shape {
  WeightFormat format;
  int planes, group, cols, rows, x_rows;
  std::string text() const {
    return "format " + std::to_string(int(format)) + " planes " + std::to_string(planes) + " group " + std::to_string(group) + " cols " +
           std::to_string(cols) + " rows " + std::to_string(rows) + " x_rows " + std::to_string(x_rows);
  }
};

constexpr int kWholeRow = 1 << 30;
constexpr int kGroups[] = {16, 32, 48, 64, 96, 128, 192, 256, kWholeRow};

/// Every format, both planes, every group and 1 to 200 columns (every width up to two blocks of the widest table); rows and batches take turns. Some wide ones cross the kernels' chunks.
template <class Body>
void forEveryShape(Body body) {
  std::size_t turn = 0;
  const auto cross = [&](int cols) {
    for (const WeightFormat format : test::kIntegerFormats) {
      for (const int planes : {1, 2}) {
        for (const int group : kGroups) {
          const int rows = test::kRowCounts[turn % std::size(test::kRowCounts)], x_rows = test::kXRows[turn / 3 % std::size(test::kXRows)];
          body(Shape{format, planes, group, cols, rows, x_rows}, turn++);
        }
      }
    }
  };
  for (int cols = 1; cols <= 200; cols += cols < 132 ? 1 : 5) cross(cols);
  for (const int cols : {1023, 1024, 1025, 1088, 1120, 2048, 3001}) cross(cols);
}

TEST_P(IntegerProduct, EqualsScalarToTheBit_ForEveryFormatGroupAndWidth) {
  const Kernels& scalar = kernelsFor(Isa::Scalar);
  const bool is_scalar = GetParam().kernels == &scalar;
  std::size_t cases = 0;
  forEveryShape([&](const Shape& shape, std::size_t turn) {
    if (testing::Test::HasFatalFailure()) return;
    Rng rng(turn);
    const bool specials = turn % 7 == 0;
    const Matrix m(shape.format, shape.rows, shape.cols, shape.group, rng, specials);
    std::vector<std::vector<float>> x;
    for (int s = 0; s < shape.x_rows; ++s) x.push_back(test::someFloats(rng, shape.cols, specials && s % 2 == 1));
    const int begin = int(rng.below(std::uint64_t(shape.rows) / 2 + 1)), end = shape.rows - int(rng.below(2)) * (shape.rows - begin) / 3;
    const std::vector<float> got = product(*GetParam().kernels, m.w, x, shape.planes, begin, end);
    const std::vector<float> want =
        is_scalar ? plainProduct(m.w, x, shape.planes, begin, end) : product(scalar, m.w, x, shape.planes, begin, end);
    const int at = test::firstDifference(got, want);
    ASSERT_EQ(at, -1) << shape.text() << " seed " << turn << ": output " << at << " is " << got[std::size_t(at)] << ", not " << want[std::size_t(at)];
    ++cases;
  });
  std::printf("%s: %zu integer products compared\n", GetParam().name.c_str(), cases);
}

TEST_P(IntegerProduct, NoticesOneCode_AndOneUlpOfAScale) {
  for (const WeightFormat format : test::kIntegerFormats) {
    for (const int planes : {1, 2}) {
      Rng rng(99);
      Matrix m(format, 17, 200, 64, rng);
      const std::vector<std::vector<float>> x = {test::someFloats(rng, 200)};
      const std::vector<float> before = product(*GetParam().kernels, m.w, x, planes, 0, 17);
      // Bytes in the middle of row 9: with Int3, its low plane.
      std::byte& code = m.data.data()[9 * rowBytes(format, 200) + 5];
      code ^= std::byte(1);
      std::vector<float> after = product(*GetParam().kernels, m.w, x, planes, 0, 17);
      EXPECT_EQ(test::firstDifference(before, after), 9) << int(format);
      code ^= std::byte(1);
      // The lowest bits of a scale may be lost in one rounding; a few ulps of the largest term are not.
      float scale;
      std::byte* where = m.scales.data() + 4 * (9 * 4 + 1);
      std::memcpy(&scale, where, 4);
      scale = std::bit_cast<float>(std::bit_cast<std::uint32_t>(scale) + 64);
      std::memcpy(where, &scale, 4);
      after = product(*GetParam().kernels, m.w, x, planes, 0, 17);
      EXPECT_EQ(test::firstDifference(before, after), 9) << int(format);
    }
  }
}

TEST_P(IntegerProduct, IsTheSameForARowAlone_AndInABatch) {
  Rng rng(5);
  const Matrix m(WeightFormat::Int4, 40, 320, 64, rng);
  std::vector<std::vector<float>> x;
  for (int s = 0; s < 70; ++s) x.push_back(test::someFloats(rng, 320));  // more than one tile of the kernel
  const std::vector<float> batch = product(*GetParam().kernels, m.w, x, 2, 0, 40);
  for (int s = 0; s < 70; ++s) {
    const std::vector<float> alone = product(*GetParam().kernels, m.w, {x[std::size_t(s)]}, 2, 0, 40);
    const std::vector<float> part(batch.begin() + s * 40, batch.begin() + (s + 1) * 40);
    ASSERT_EQ(test::firstDifference(alone, part), -1) << s;
  }
}

TEST_P(IntegerProduct, SurvivesExtremeCodes) {
  // Every code at its end of the range: the largest sums that a unit can have.
  for (const WeightFormat format : test::kIntegerFormats) {
    for (const int planes : {1, 2}) {
      for (const int fill : {0x00, 0x80, 0xff, 0x7f}) {
        Rng rng(1);
        Matrix m(format, 17, 256, 64, rng);
        std::memset(m.data.data(), fill, m.data.bytes());
        std::vector<std::vector<float>> x = {std::vector<float>(256, 1.0f), std::vector<float>(256, -1.0f), std::vector<float>(256, 1.0f)};
        for (std::size_t i = 0; i < 256; i += 2) x[2][i] = -1.0f;
        const std::vector<float> got = product(*GetParam().kernels, m.w, x, planes, 0, 17);
        ASSERT_EQ(test::firstDifference(got, plainProduct(m.w, x, planes, 0, 17)), -1) << int(format) << ' ' << planes << ' ' << fill;
      }
    }
  }
}

TEST_P(IntegerProduct, ShowsNonFiniteActivations_AsNaN) {
  Rng rng(3);
  const Matrix m(WeightFormat::Int4, 16, 192, 64, rng);
  for (const float bad : {std::numeric_limits<float>::infinity(), std::numeric_limits<float>::quiet_NaN()}) {
    std::vector<std::vector<float>> x = {test::someFloats(rng, 192)};
    x[0][100] = bad;
    for (const float y : product(*GetParam().kernels, m.w, x, 2, 0, 16)) EXPECT_TRUE(std::isnan(y));
  }
}

INSTANTIATE_TEST_SUITE_P(On, IntegerProduct, testing::ValuesIn(test::everyTable()), test::NameOfTable());

}  // namespace
}  // namespace sluice
