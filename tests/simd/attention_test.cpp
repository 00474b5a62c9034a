// Goal:   attention and index scores have one value, whatever the table, the split of the heads and the slabs of the cache.
// Method: every table against plain loops spelled from the contract, to the bit; rows and queries end at guard pages.

#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>
#include <memory>
#include <utility>

#include "core/base/half.h"
#include "simd/dispatch.h"
#include "tests/simd/kernel_cases.h"
#include "tests/simd/plain_kernels.h"

namespace sluice {
namespace {

using test::Guarded;
using test::Table;
using Floats = std::vector<float>;

class Attention : public testing::TestWithParam<Table> {
 protected:
  void SetUp() override {
    if (!GetParam().why_not.empty()) GTEST_SKIP() << GetParam().name << ": " << GetParam().why_not;
  }
  const Kernels& k() const { return *GetParam().kernels; }
};

/// `count` cached rows in slabs, and the same as floats.
struct Cache {
  std::vector<std::unique_ptr<Guarded>> slabs;
  std::vector<const std::byte*> addresses;
  std::vector<Floats> rows;
  CachedRows view;
  Cache(Rng& rng, int count, int width, int slab_rows, RowFormat format) {
    const std::size_t row_bytes = std::size_t(width) * bytesOf(format);
    for (int p = 0; p < count; ++p) {
      if (p % slab_rows == 0) {
        slabs.push_back(std::make_unique<Guarded>(row_bytes * std::size_t(std::min(slab_rows, count - p))));
        addresses.push_back(slabs.back()->data());
      }
      std::byte* at = slabs.back()->data() + std::size_t(p % slab_rows) * row_bytes;
      Floats row = test::someFloats(rng, width);
      for (std::size_t i = 0; i < row.size(); ++i) {
        if (format == RowFormat::F32) {
          std::memcpy(at + 4 * i, &row[i], 4);
        } else {
          const std::uint16_t narrow = floatToBf16(row[i]);
          std::memcpy(at + 2 * i, &narrow, 2);
          row[i] = bf16ToFloat(narrow);
        }
      }
      rows.push_back(row);
    }
    view = {addresses.data(), slab_rows, width, format};
  }
};

Floats plainAttention(const Cache& cache, const Floats& q, const std::vector<std::int32_t>& positions, int heads, int latent, float scale) {
  Floats out;
  const std::size_t width = std::size_t(cache.view.width);
  for (int h = 0; h < heads; ++h) {
    const Floats query(q.begin() + std::ptrdiff_t(std::size_t(h) * width), q.begin() + std::ptrdiff_t(std::size_t(h + 1) * width));
    Floats weights;
    for (const std::int32_t p : positions) weights.push_back(scale * plain::dot16(query, cache.rows[std::size_t(p)]));
    weights = plain::softmax(weights);
    for (int c = 0; c < latent; ++c) {
      float sum = 0.0f;
      for (std::size_t j = 0; j < positions.size(); ++j) sum = std::fma(weights[j], cache.rows[std::size_t(positions[j])][std::size_t(c)], sum);
      out.push_back(sum);
    }
  }
  return out;
}

TEST_P(Attention, EqualsPlainLoops_ForEveryShapeOfHeadsRowsAndSlabs) {
  int cases = 0;
  for (const RowFormat format : {RowFormat::F32, RowFormat::Bf16}) {
    for (const int heads : {1, 2, 3, 4, 5, 9}) {
      for (const int width : {1, 15, 16, 17, 40, 72}) {
        for (const int count : {1, 2, 31, 32, 33, 70}) {
          Rng rng(std::uint64_t(++cases));
          const int latent = 1 + int(rng.below(std::uint64_t(width))), slab_rows = 1 + int(rng.below(40));
          const Cache cache(rng, count, width, slab_rows, format);
          const Floats q = test::someFloats(rng, heads * width);
          std::vector<std::int32_t> positions;
          const bool chosen = cases % 2 == 0;
          for (int p = 0; p < count; ++p) {
            if (!chosen || p == 0 || rng.chance(0.6)) positions.push_back(p);
          }
          const int n = int(positions.size()), stride = n + int(rng.below(3));
          Guarded query(q.size() * 4), scores(std::size_t((heads - 1) * stride + n) * 4), out(std::size_t(heads * latent) * 4);
          std::memcpy(query.data(), q.data(), query.bytes());
          // The heads in two parts, as two threads would take them.
          const int middle = int(rng.below(std::uint64_t(heads) + 1));
          for (const auto& [begin, end] : {std::pair{0, middle}, std::pair{middle, heads}}) {
            k().latent_attention({query.floats(), cache.view, chosen ? positions.data() : nullptr, n, latent, 0.37f, begin, end, scores.floats(), stride,
                                  out.floats()});
          }
          const Floats got(out.floats(), out.floats() + heads * latent);
          ASSERT_EQ(test::firstDifference(got, plainAttention(cache, q, positions, heads, latent, 0.37f)), -1)
              << "heads " << heads << " width " << width << " latent " << latent << " count " << count;
        }
      }
    }
  }
  std::printf("%s: %d attentions compared\n", GetParam().name.c_str(), cases);
}

TEST_P(Attention, NoticesOneChangedValueOfARow) {
  Rng rng(1);
  Cache cache(rng, 20, 40, 7, RowFormat::F32);
  const Floats q = test::someFloats(rng, 40);
  Floats out(32), scores(20);
  const auto run = [&] {
    k().latent_attention({q.data(), cache.view, nullptr, 20, 32, 0.5f, 0, 1, scores.data(), 20, out.data()});
    return out;
  };
  const Floats before = run();
  float* value = cache.slabs[1]->floats() + 2 * 40 + 11;
  *value += 1e-3f;
  EXPECT_NE(test::firstDifference(before, run()), -1);
}

TEST_P(Attention, ScoresTheIndex) {
  int cases = 0;
  for (const RowFormat format : {RowFormat::F32, RowFormat::Bf16}) {
    for (const int heads : {1, 3, 4, 7, 8}) {
      for (const int width : {1, 16, 23, 128}) {
        Rng rng(std::uint64_t(++cases));
        const Cache cache(rng, 50, width, 1 + int(rng.below(60)), format);
        Floats q = test::someFloats(rng, heads * width);
        if (cases % 4 == 0) q[rng.below(q.size())] = std::numeric_limits<float>::quiet_NaN();
        const Floats weights = test::someFloats(rng, heads);
        const int begin = int(rng.below(20)), end = begin + 1 + int(rng.below(30));
        Guarded query(q.size() * 4), out(std::size_t(end - begin) * 4);
        std::memcpy(query.data(), q.data(), query.bytes());
        k().index_scores({query.floats(), weights.data(), cache.view, heads, begin, end, out.floats()});
        Floats want;
        for (int j = begin; j < end; ++j) {
          float sum = 0.0f;
          for (int h = 0; h < heads; ++h) {
            const float dot = plain::dot16(Floats(q.begin() + h * width, q.begin() + (h + 1) * width), cache.rows[std::size_t(j)]);
            sum = std::fma(weights[std::size_t(h)], dot < 0.0f ? 0.0f : dot, sum);
          }
          want.push_back(sum);
        }
        ASSERT_EQ(test::firstDifference(Floats(out.floats(), out.floats() + (end - begin)), want), -1) << heads << ' ' << width;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(On, Attention, testing::ValuesIn(test::everyTable()), test::NameOfTable());

}  // namespace
}  // namespace sluice
