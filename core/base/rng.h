#pragma once
// Seeded chance. The same seed gives the same numbers on every machine.

#include <cstdint>

namespace sluice {

/// One step of SplitMix64: a bijective mix of 64 bits (public domain constants by S. Vigna).
constexpr std::uint64_t mix64(std::uint64_t z) {
  z += 0x9e3779b97f4a7c15ull;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
  return z ^ (z >> 31);
}

/// A counter-based draw in [0, 1) with 53 bits: depends on (seed, position, lane) alone, so that neither batch shape,
/// speculation nor resuming shifts a draw.
constexpr double uniformAt(std::uint64_t seed, std::uint64_t position, std::uint64_t lane = 0) {
  return double(mix64(mix64(mix64(seed) ^ position) ^ (lane * 0xd6e8feb86659fd93ull)) >> 11) * 0x1p-53;
}

/// A sequence of draws for tests and policies.
class Rng {
 public:
  explicit Rng(std::uint64_t seed) : state_(seed) {}
  std::uint64_t next() { return mix64(state_++ * 0x9e3779b97f4a7c15ull); }
  double uniform() { return double(next() >> 11) * 0x1p-53; }
  std::uint64_t below(std::uint64_t n) { return std::uint64_t(uniform() * double(n)); }
  bool chance(double p) { return uniform() < p; }

 private:
  std::uint64_t state_;
};

}  // namespace sluice
