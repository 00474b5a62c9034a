// How close one expert (gate, up, SiLU, down; int4, a scale for every 64 weights) comes to the memory's read rate when its weights are cold.
// Real size: GLM-5.2's shapes, 24 experts (0.5 GB) one after the other, two threads.

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "core/base/check.h"
#include "core/base/rng.h"
#include "simd/dispatch.h"
#include "tests/bench/bench.h"

namespace sluice {
namespace {

constexpr std::uint64_t kSeed = 7;
constexpr int kThreads = 2;
constexpr int kGroup = 64;

/// Memory in huge pages, as the engine's arena has it.
class Region {
 public:
  explicit Region(std::size_t bytes) : bytes_(bytes) {
    void* p = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(p != MAP_FAILED);
    madvise(p, bytes, MADV_HUGEPAGE);
    data_ = static_cast<std::byte*>(p);
  }
  ~Region() { munmap(data_, bytes_); }
  Region(const Region&) = delete;
  Region& operator=(const Region&) = delete;
  std::byte* data() { return data_; }
  std::size_t bytes() const { return bytes_; }

 private:
  std::byte* data_ = nullptr;
  std::size_t bytes_;
};

struct Expert {
  WeightMatrix gate, up, down;
};

WeightMatrix matrixAt(std::byte*& at, int rows, int cols) {
  WeightMatrix w;
  w.format = WeightFormat::Int4;
  w.rows = rows;
  w.cols = cols;
  w.group = kGroup;
  w.data = at;
  at += std::size_t(rows) * rowBytes(w.format, std::uint64_t(cols));
  w.scales = reinterpret_cast<const float*>(at);
  const std::size_t scales = std::size_t(rows) * std::size_t(cols / kGroup);
  for (std::size_t i = 0; i < scales; ++i) {
    const float scale = 0.001f + float(i % 97) * 1e-5f;
    std::memcpy(at + 4 * i, &scale, 4);
  }
  at += 4 * scales;
  return w;
}

/// What one run of an expert needs beside its weights, for S rows.
struct Work {
  std::vector<std::vector<float>> x, gate, up, out;
  std::vector<std::vector<std::byte>> codes, inner;
  std::vector<const std::byte*> code_rows, inner_rows;
  std::vector<float*> gate_rows, up_rows, out_rows;
  int planes;

  Work(const Kernels& k, int rows, int hidden, int inter, int given_planes) : planes(given_planes) {
    Rng rng(kSeed);
    const auto floats = [&](int n) { return std::vector<std::vector<float>>(std::size_t(rows), std::vector<float>(std::size_t(n))); };
    x = floats(hidden);
    gate = up = floats(inter);
    out = floats(hidden);
    for (std::vector<float>& row : x) {
      for (float& v : row) v = float(rng.uniform() - 0.5);
    }
    codes.assign(std::size_t(rows), std::vector<std::byte>(k.activation_bytes(hidden, planes) + 64));
    inner.assign(std::size_t(rows), std::vector<std::byte>(k.activation_bytes(inter, planes) + 64));
    const auto aligned = [](std::vector<std::byte>& v) { return v.data() + (64 - reinterpret_cast<std::uintptr_t>(v.data()) % 64) % 64; };
    for (std::size_t s = 0; s < std::size_t(rows); ++s) {
      code_rows.push_back(aligned(codes[s]));
      inner_rows.push_back(aligned(inner[s]));
      gate_rows.push_back(gate[s].data());
      up_rows.push_back(up[s].data());
      out_rows.push_back(out[s].data());
      k.quantise({x[s].data(), aligned(codes[s]), hidden, planes, 0, hidden});
    }
  }
};

void runExpert(const Kernels& k, const Expert& e, Work& w, const Member& member) {
  const int rows = int(w.x.size()), inter = e.gate.rows, hidden = e.down.rows;
  const Slice part = member.slice(inter, 64);
  k.int_product({&e.gate, w.code_rows.data(), w.gate_rows.data(), rows, w.planes, part.begin, part.end});
  k.int_product({&e.up, w.code_rows.data(), w.up_rows.data(), rows, w.planes, part.begin, part.end});
  for (int s = 0; s < rows; ++s) {
    float* gate = w.gate_rows[std::size_t(s)];
    k.silu_mul({gate + part.begin, w.up_rows[std::size_t(s)] + part.begin, gate + part.begin, part.end - part.begin});
    k.quantise({gate, const_cast<std::byte*>(w.inner_rows[std::size_t(s)]), inter, w.planes, part.begin, part.end});
  }
  member.barrier();
  const Slice down = member.slice(hidden, kRowGrain);
  k.int_product({&e.down, w.inner_rows.data(), w.out_rows.data(), rows, w.planes, down.begin, down.end});
  member.barrier();
}

std::uint64_t checksumOf(const Work& w) {
  std::uint64_t sum = 0;
  for (const std::vector<float>& row : w.out) {
    for (const float v : row) {
      std::uint32_t bits;
      std::memcpy(&bits, &v, 4);
      sum = mix64(sum ^ bits);
    }
  }
  return sum;
}

TEST(BenchExpertKernel, ReadsColdExperts) {
  const bench::Bench sizes("");
  const int experts = sizes.size({.smoke = 2, .real = 24}), hidden = sizes.size({.smoke = 512, .real = 6144}), inter = sizes.size({.smoke = 256, .real = 2048});
  const int runs = sizes.size({.smoke = 1, .real = 7});
  const std::size_t weights = 3 * std::size_t(hidden) * std::size_t(inter), expert_bytes = weights / 2 + weights / kGroup * 4;
  Region region(expert_bytes * std::size_t(experts));
  for (std::size_t i = 0; i + 8 <= region.bytes(); i += 8) {
    const std::uint64_t bits = mix64(i + kSeed);
    std::memcpy(region.data() + i, &bits, 8);
  }
  std::vector<Expert> all;
  std::byte* at = region.data();
  for (int e = 0; e < experts; ++e) all.push_back({matrixAt(at, inter, hidden), matrixAt(at, inter, hidden), matrixAt(at, hidden, inter)});

  const char* wanted = std::getenv("SLUICE_BENCH_ISA");
  const Isa isa = wanted != nullptr ? isaByName(wanted).value_or(bestIsa()) : bestIsa();
  const Kernels& k = kernelsFor(isa);
  Team team(kThreads);
  for (const int planes : {1, 2}) {
    for (const int rows : {1, 2, 4, 8}) {
      Work work(k, rows, hidden, inter, planes);
      const std::string name = std::string(k.isa) + " expert, " + std::to_string(8 * planes) + " bits, S=" + std::to_string(rows);
      bench::Bench bench(name);
      double limit = 0;
      for (int run = 0; run < runs; ++run) {
        if (bench::isReal()) limit = std::max(limit, bench::readRate(team, region.data(), region.bytes()));
        bench.start();
        team.run([&](const Member& member) {
          for (const Expert& e : all) runExpert(k, e, work, member);
        });
        bench.stop();
      }
      const std::uint64_t checksum = checksumOf(work);
      bench.report(checksum, Bytes(region.bytes()), limit, kSeed);
      // The work happened, and is the scalar table's to the bit.
      Work again(kernelsFor(Isa::Scalar), rows, hidden, inter, planes);
      if (!bench::isReal()) {
        team.run([&](const Member& member) {
          for (const Expert& e : all) runExpert(kernelsFor(Isa::Scalar), e, again, member);
        });
        EXPECT_EQ(checksum, checksumOf(again));
      }
      EXPECT_NE(checksum, 0u);
    }
  }
}

}  // namespace
}  // namespace sluice
