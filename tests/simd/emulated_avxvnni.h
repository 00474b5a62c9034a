#pragma once
// Included before simd/avxvnni_kernels.cpp in the tests' own build of it: the two instructions that AVX-VNNI adds, spelled on AVX2.

#include <immintrin.h>

/// acc + sums of four products of unsigned with signed bytes. Even and odd bytes apart, as words, so that nothing saturates.
__attribute__((target("avx2"))) static inline __m256i emulatedDpbusd(__m256i acc, __m256i a, __m256i b) {
  const __m256i a_even = _mm256_and_si256(a, _mm256_set1_epi16(0xff)), a_odd = _mm256_srli_epi16(a, 8);
  const __m256i b_even = _mm256_srai_epi16(_mm256_slli_epi16(b, 8), 8), b_odd = _mm256_srai_epi16(b, 8);
  return _mm256_add_epi32(acc, _mm256_add_epi32(_mm256_madd_epi16(a_even, b_even), _mm256_madd_epi16(a_odd, b_odd)));
}
/// acc + sums of two products of signed words.
__attribute__((target("avx2"))) static inline __m256i emulatedDpwssd(__m256i acc, __m256i a, __m256i b) {
  return _mm256_add_epi32(acc, _mm256_madd_epi16(a, b));
}

#define _mm256_dpbusd_avx_epi32 emulatedDpbusd
#define _mm256_dpwssd_avx_epi32 emulatedDpwssd
