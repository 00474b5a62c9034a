#include "simd/cpu_features.h"

#include <cpuid.h>

#include <cstdint>

namespace sluice {
namespace {

struct Registers {
  std::uint32_t a = 0, b = 0, c = 0, d = 0;
};

Registers cpuid(std::uint32_t leaf, std::uint32_t subleaf) {
  Registers r;
  if (__get_cpuid_count(leaf, subleaf, &r.a, &r.b, &r.c, &r.d) == 0) return {};
  return r;
}

/// The register states that the system saves; only where OSXSAVE says that the instruction exists.
std::uint64_t savedStates() {
  std::uint32_t low = 0, high = 0;
  __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return (std::uint64_t(high) << 32) | low;
}

constexpr bool bit(std::uint32_t word, int at) { return ((word >> at) & 1u) != 0u; }
constexpr bool has(std::uint64_t states, std::uint64_t wanted) { return (states & wanted) == wanted; }

CpuFeatures detect() {
  constexpr std::uint64_t kYmm = 0x6, kZmm = 0xe6, kTiles = 0x60000;
  CpuFeatures f;
  const Registers one = cpuid(1, 0);
  if (!bit(one.c, 27)) return f;  // OSXSAVE
  const std::uint64_t states = savedStates();
  const Registers seven = cpuid(7, 0);
  const Registers seven_one = seven.a >= 1 ? cpuid(7, 1) : Registers{};
  const bool fma = bit(one.c, 12), avx = bit(one.c, 28), f16c = bit(one.c, 29);
  f.avx2 = avx && fma && f16c && bit(seven.b, 5) && has(states, kYmm);
  f.avxvnni = f.avx2 && bit(seven_one.a, 4);
  const bool foundation = bit(seven.b, 16), dq = bit(seven.b, 17), bw = bit(seven.b, 30), vl = bit(seven.b, 31), vnni = bit(seven.c, 11);
  f.avx512vnni = f.avx2 && foundation && dq && bw && vl && vnni && has(states, kZmm);
  f.amx_int8 = bit(seven.d, 24) && bit(seven.d, 25) && has(states, kTiles);
  return f;
}

}  // namespace

const CpuFeatures& cpuFeatures() {
  static const CpuFeatures features = detect();
  return features;
}

}  // namespace sluice
