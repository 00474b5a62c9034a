// Goal:   norms, rope, activations and what is done to single rows have one value on every table.
// Method: every table against plain loops spelled from the contract, to the bit; buffers end at a guard page; special values on every fifth row.

#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>
#include <functional>

#include "core/base/half.h"
#include "simd/dispatch.h"
#include "tests/simd/kernel_cases.h"
#include "tests/simd/plain_kernels.h"

namespace sluice {
namespace {

using test::Guarded;
using test::Table;
using Floats = std::vector<float>;

class RowKernels : public testing::TestWithParam<Table> {
 protected:
  void SetUp() override {
    if (!GetParam().why_not.empty()) GTEST_SKIP() << GetParam().name << ": " << GetParam().why_not;
  }
  const Kernels& k() const { return *GetParam().kernels; }
};

/// A guarded copy of v.
struct Row {
  Guarded memory;
  explicit Row(const Floats& v) : memory(v.size() * 4) {
    if (!v.empty()) std::memcpy(memory.data(), v.data(), v.size() * 4);
  }
  float* data() { return memory.floats(); }
  Floats all() const { return {memory.floats(), memory.floats() + memory.bytes() / 4}; }
};

/// Calls body(rng, n) for lengths around every multiple of the vector, with and without special values.
void forEveryLength(const std::function<void(Rng&, int, bool)>& body) {
  for (int n = 1; n <= 530; n += n < 100 ? 1 : 43) {
    for (int turn = 0; turn < 5; ++turn) {
      Rng rng(std::uint64_t(n) * 5 + std::uint64_t(turn));
      body(rng, n, turn == 0);
    }
  }
}

TEST_P(RowKernels, NormalisesByRootMeanSquare) {
  forEveryLength([&](Rng& rng, int n, bool specials) {
    const Floats x = test::someFloats(rng, n, specials), weight = test::someFloats(rng, n, specials);
    const float inverse = 1.0f / std::sqrt(plain::dot16(x, x) / float(n) + 1e-5f);
    Floats want;
    for (std::size_t i = 0; i < x.size(); ++i) want.push_back((x[i] * inverse) * weight[i]);
    Row in(x), factors(weight);
    k().rms_norm({in.data(), factors.data(), in.data(), n, 1e-5f});
    ASSERT_EQ(test::firstDifference(in.all(), want), -1) << n;
  });
}

TEST_P(RowKernels, NormalisesByMeanAndVariance) {
  forEveryLength([&](Rng& rng, int n, bool specials) {
    const Floats x = test::someFloats(rng, n, specials), weight = test::someFloats(rng, n), bias = test::someFloats(rng, n);
    const float mean = plain::dot16(x, Floats(x.size(), 1.0f)) / float(n);  // x * 1 + lane is x + lane
    Floats d;
    for (const float v : x) d.push_back(v - mean);
    const float inverse = 1.0f / std::sqrt(plain::dot16(d, d) / float(n) + 1e-6f);
    Floats want;
    for (std::size_t i = 0; i < x.size(); ++i) want.push_back(std::fma(d[i] * inverse, weight[i], bias[i]));
    Row in(x), factors(weight), offsets(bias), out(Floats(x.size(), 0.0f));
    k().layer_norm({in.data(), factors.data(), offsets.data(), out.data(), n, 1e-6f});
    ASSERT_EQ(test::firstDifference(out.all(), want), -1) << n;
  });
}

TEST_P(RowKernels, RotatesPairs) {
  for (int pairs = 1; pairs <= 40; ++pairs) {
    Rng rng{std::uint64_t(pairs)};
    const int heads = 3, stride = 2 * pairs + 5;
    const Floats x = test::someFloats(rng, (heads - 1) * stride + 2 * pairs, pairs % 5 == 0), c = test::someFloats(rng, pairs), s = test::someFloats(rng, pairs);
    Floats want = x;
    for (int h = 0; h < heads; ++h) {
      for (int i = 0; i < pairs; ++i) {
        const std::size_t at = std::size_t(h * stride + 2 * i), p = std::size_t(i);
        want[at] = std::fma(x[at], c[p], -(x[at + 1] * s[p]));
        want[at + 1] = std::fma(x[at], s[p], x[at + 1] * c[p]);
      }
    }
    Row in(x), cosines(c), sines(s);
    k().rope_pairs({in.data(), cosines.data(), sines.data(), heads, stride, pairs});
    ASSERT_EQ(test::firstDifference(in.all(), want), -1) << pairs;
  }
}

TEST_P(RowKernels, ComputesSiluAndSigmoid_OverEveryExponent) {
  Floats sweep;
  for (std::uint32_t bits = 0; bits < 0x7f900000u; bits += 0x3151u) {  // past infinity into NaN
    sweep.push_back(std::bit_cast<float>(bits));
    sweep.push_back(-std::bit_cast<float>(bits));
  }
  const auto compare = [&](const Floats& gate, const Floats& up) {
    Floats silu, sigmoid;
    for (std::size_t i = 0; i < gate.size(); ++i) {
      const float bottom = 1.0f + plain::exponential(-gate[i]);
      silu.push_back(gate[i] / bottom * up[i]);
      sigmoid.push_back(1.0f / bottom);
    }
    Row g(gate), u(up), out(Floats(gate.size(), 0.0f));
    k().silu_mul({g.data(), u.data(), out.data(), int(gate.size())});
    ASSERT_EQ(test::firstDifference(out.all(), silu), -1) << gate.size();
    k().sigmoid({g.data(), int(gate.size())});
    ASSERT_EQ(test::firstDifference(g.all(), sigmoid), -1) << gate.size();
  };
  Rng rng(1);
  compare(sweep, test::someFloats(rng, int(sweep.size())));
  forEveryLength([&](Rng& chance, int n, bool specials) { compare(test::someFloats(chance, n, specials), test::someFloats(chance, n, specials)); });
}

TEST_P(RowKernels, ComputesSoftmax) {
  forEveryLength([&](Rng& rng, int n, bool specials) {
    Floats x = test::someFloats(rng, n, specials);
    for (float& v : x) v *= 30.0f;
    Row in(x);
    k().softmax({in.data(), n});
    ASSERT_EQ(test::firstDifference(in.all(), plain::softmax(x)), -1) << n;
  });
}

TEST_P(RowKernels, AddsScaledRows) {
  forEveryLength([&](Rng& rng, int n, bool specials) {
    const Floats acc = test::someFloats(rng, n, specials), x = test::someFloats(rng, n, specials);
    const float weight = test::someFloat(rng, specials);
    Floats want;
    for (std::size_t i = 0; i < x.size(); ++i) want.push_back(std::fma(weight, x[i], acc[i]));
    Row sum(acc), in(x);
    k().add_scaled({sum.data(), in.data(), weight, n});
    ASSERT_EQ(test::firstDifference(sum.all(), want), -1) << n;
  });
}

TEST_P(RowKernels, StoresRowsRoundedToNearestEven) {
  forEveryLength([&](Rng& rng, int n, bool specials) {
    Floats x = test::someFloats(rng, n, specials);
    x[0] = std::bit_cast<float>(0x3f808000u);  // a tie, to the even one below
    if (n > 1) x[1] = std::bit_cast<float>(0x3f818000u);
    Row in(x);
    Guarded wide(std::size_t(n) * 4), narrow(std::size_t(n) * 2);
    k().store_row({in.data(), wide.data(), n, RowFormat::F32});
    EXPECT_EQ(std::memcmp(wide.data(), x.data(), wide.bytes()), 0);
    k().store_row({in.data(), narrow.data(), n, RowFormat::Bf16});
    for (std::size_t i = 0; i < x.size(); ++i) {
      std::uint16_t got;
      std::memcpy(&got, narrow.data() + 2 * i, 2);
      ASSERT_TRUE(test::same(bf16ToFloat(got), bf16ToFloat(floatToBf16(x[i])))) << i;
    }
  });
}

TEST_P(RowKernels, FindsTheLargest_TheFirstOfEquals_AndRefusesWhatIsNotFinite) {
  forEveryLength([&](Rng& rng, int n, bool) {
    Floats x = test::someFloats(rng, n);
    int want = 0;
    for (int i = 1; i < n; ++i) {
      if (x[std::size_t(i)] > x[std::size_t(want)]) want = i;
    }
    Row row(x);
    ASSERT_EQ(k().argmax({row.data(), n}), want);
    const int twin = int(rng.below(std::uint64_t(n)));
    x[std::size_t(twin)] = x[std::size_t(want)];
    Row twins(x);
    ASSERT_EQ(k().argmax({twins.data(), n}), std::min(twin, want));
    for (const float bad : {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity(), -std::numeric_limits<float>::infinity()}) {
      Floats y = x;
      y[std::size_t(rng.below(std::uint64_t(n)))] = bad;
      Row broken(y);
      ASSERT_EQ(k().argmax({broken.data(), n}), -1);
    }
  });
  Row negative(Floats{-3.0f, -1e-40f, -2.0f});
  EXPECT_EQ(k().argmax({negative.data(), 3}), 1);
}

TEST_P(RowKernels, NoticesOneUlp) {
  // The comparison itself can fail: one bit of one input shows in one output.
  Rng rng(1);
  const Floats x = test::someFloats(rng, 37);
  Floats y = x;
  y[20] = std::nextafter(y[20], 5.0f);
  Row a(x), b(y), acc_a(x), acc_b(x);
  k().add_scaled({acc_a.data(), a.data(), 3.0f, 37});
  k().add_scaled({acc_b.data(), b.data(), 3.0f, 37});
  EXPECT_EQ(test::firstDifference(acc_a.all(), acc_b.all()), 20);
}

INSTANTIATE_TEST_SUITE_P(On, RowKernels, testing::ValuesIn(test::everyTable()), test::NameOfTable());

}  // namespace
}  // namespace sluice
