#pragma once
// The first seed of property tests: SLUICE_TEST_SEED, or 1. A failure prints the seed that repeats it.

#include <cstdint>
#include <cstdlib>
#include <string>

namespace sluice {

inline std::uint64_t testSeed() {
  const char* const text = std::getenv("SLUICE_TEST_SEED");
  return text == nullptr ? 1 : std::strtoull(text, nullptr, 10);
}

inline std::string seedNote(std::uint64_t seed) { return "reproduce with SLUICE_TEST_SEED=" + std::to_string(seed); }

}  // namespace sluice
