#pragma once
// Included before simd/avx512vnni_kernels.cpp in the tests' own build of it: SIMDe's AVX-512, and what version 0.7.4 of it lacks, lane by lane.

#include <immintrin.h>

#include <cmath>
#include <cstdint>
#include <cstring>

#define SIMDE_ENABLE_NATIVE_ALIASES
#include <simde/x86/avx512.h>

namespace {

struct EmulatedLanes {
  std::int32_t v[16];
};
struct EmulatedFloats {
  float v[16];
};
template <class To, class From>
inline To emulatedCast(const From& from) {
  static_assert(sizeof(To) == sizeof(From));
  To to;
  std::memcpy(&to, &from, sizeof to);
  return to;
}

/// One value a lane from n narrow ones.
template <class Narrow, class From>
inline __m512i emulatedWidenTo32(const From& from) {
  Narrow in[16];
  static_assert(sizeof in == sizeof from);
  std::memcpy(in, &from, sizeof in);
  EmulatedLanes out;
  for (int i = 0; i < 16; ++i) out.v[i] = in[i];
  return emulatedCast<__m512i>(out);
}
inline __m512i emulatedWidenTo16(__m256i from) {
  std::uint8_t in[32];
  std::memcpy(in, &from, sizeof in);
  struct {
    std::uint16_t v[32];
  } out;
  for (int i = 0; i < 32; ++i) out.v[i] = in[i];
  return emulatedCast<__m512i>(out);
}
inline __m256i emulatedNarrowTo16(__m512i from) {
  const EmulatedLanes in = emulatedCast<EmulatedLanes>(from);
  struct {
    std::uint16_t v[16];
  } out;
  for (int i = 0; i < 16; ++i) out.v[i] = std::uint16_t(in.v[i]);
  return emulatedCast<__m256i>(out);
}
inline __m512 emulatedToFloat(__m512i from) {
  const EmulatedLanes in = emulatedCast<EmulatedLanes>(from);
  EmulatedFloats out;
  for (int i = 0; i < 16; ++i) out.v[i] = float(in.v[i]);
  return emulatedCast<__m512>(out);
}
/// The conversions of halves and of floats to integers are those of the same machine in 256 bits.
inline __m512 emulatedFromHalf(__m256i from) {
  struct {
    __m256 low, high;
  } out = {_mm256_cvtph_ps(_mm256_castsi256_si128(from)), _mm256_cvtph_ps(_mm256_extracti128_si256(from, 1))};
  return emulatedCast<__m512>(out);
}
inline __m512i emulatedRound(__m512 from) {
  struct Halves {
    __m256 low, high;
  };
  const Halves in = emulatedCast<Halves>(from);
  struct {
    __m256i low, high;
  } out = {_mm256_cvtps_epi32(in.low), _mm256_cvtps_epi32(in.high)};
  return emulatedCast<__m512i>(out);
}
inline __m512i emulatedShiftRight(__m512i from, int n) {
  EmulatedLanes lanes = emulatedCast<EmulatedLanes>(from);
  for (std::int32_t& lane : lanes.v) lane >>= n;
  return emulatedCast<__m512i>(lanes);
}
/// Touches only the floats of the mask, as the instruction does.
inline __m512 emulatedMaskedLoad(unsigned mask, const void* p) {
  EmulatedFloats out = {};
  for (std::size_t i = 0; i < 16; ++i) {
    if (((mask >> i) & 1u) != 0u) std::memcpy(&out.v[i], static_cast<const char*>(p) + 4 * i, 4);
  }
  return emulatedCast<__m512>(out);
}
inline void emulatedMaskedStore(void* p, unsigned mask, __m512 from) {
  const EmulatedFloats in = emulatedCast<EmulatedFloats>(from);
  for (std::size_t i = 0; i < 16; ++i) {
    if (((mask >> i) & 1u) != 0u) std::memcpy(static_cast<char*>(p) + 4 * i, &in.v[i], 4);
  }
}

}  // namespace

#define _mm512_cvtepi8_epi32 emulatedWidenTo32<std::int8_t>
#define _mm512_cvtepu8_epi32 emulatedWidenTo32<std::uint8_t>
#define _mm512_cvtepu16_epi32 emulatedWidenTo32<std::uint16_t>
#define _mm512_cvtepu8_epi16 emulatedWidenTo16
#undef _mm512_cvtepi32_epi16
#define _mm512_cvtepi32_epi16 emulatedNarrowTo16
#define _mm512_cvtepi32_ps emulatedToFloat
#undef _mm512_cvtph_ps
#define _mm512_cvtph_ps emulatedFromHalf
#undef _mm512_cvtps_epi32
#define _mm512_cvtps_epi32 emulatedRound
#undef _mm512_srai_epi32
#define _mm512_srai_epi32 emulatedShiftRight
#undef _mm512_maskz_loadu_ps
#define _mm512_maskz_loadu_ps emulatedMaskedLoad
#undef _mm512_mask_storeu_ps
#define _mm512_mask_storeu_ps emulatedMaskedStore
