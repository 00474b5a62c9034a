// The float vocabulary on AVX-512 (F, BW, DQ, VL): sixteen lanes in one register. Intrinsics throughout, so that the tests can run it emulated on
// machines without AVX-512 (docs/decisions/0003).

struct F32x16 {
  __m512 v;
};
struct I32x16 {
  __m512i v;
};

inline float fusedOne(float a, float b, float c) { return _mm_cvtss_f32(_mm_fmadd_ss(_mm_set_ss(a), _mm_set_ss(b), _mm_set_ss(c))); }
inline float squareRoot(float x) { return _mm_cvtss_f32(_mm_sqrt_ss(_mm_set_ss(x))); }

inline F32x16 splat(float x) { return {_mm512_set1_ps(x)}; }
inline F32x16 zero16() { return {_mm512_setzero_ps()}; }
inline F32x16 load(const void* p) { return {_mm512_loadu_ps(p)}; }
inline void store(float* p, F32x16 x) { _mm512_storeu_ps(p, x.v); }
inline __mmask16 firstLanes(int n) { return __mmask16((1u << n) - 1u); }
inline F32x16 loadFirst(const void* p, int n) { return {_mm512_maskz_loadu_ps(firstLanes(n), p)}; }
inline void storeFirst(float* p, int n, F32x16 x) { _mm512_mask_storeu_ps(p, firstLanes(n), x.v); }
inline F32x16 firstOf(int n, F32x16 a, F32x16 b) { return {_mm512_mask_blend_ps(firstLanes(n), b.v, a.v)}; }

inline F32x16 add(F32x16 a, F32x16 b) { return {_mm512_add_ps(a.v, b.v)}; }
inline F32x16 sub(F32x16 a, F32x16 b) { return {_mm512_sub_ps(a.v, b.v)}; }
inline F32x16 mul(F32x16 a, F32x16 b) { return {_mm512_mul_ps(a.v, b.v)}; }
inline F32x16 divide(F32x16 a, F32x16 b) { return {_mm512_div_ps(a.v, b.v)}; }
inline F32x16 fused(F32x16 a, F32x16 b, F32x16 c) { return {_mm512_fmadd_ps(a.v, b.v, c.v)}; }
// VMAXPS and VMINPS give the second operand where either is NaN.
inline F32x16 larger(F32x16 a, F32x16 b) { return {_mm512_max_ps(a.v, b.v)}; }
inline F32x16 smaller(F32x16 a, F32x16 b) { return {_mm512_min_ps(a.v, b.v)}; }

inline __m256 lowHalf(__m512 x) { return _mm512_castps512_ps256(x); }
inline __m256 highHalf(__m512 x) { return _mm256_castsi256_ps(_mm512_extracti64x4_epi64(_mm512_castps_si512(x), 1)); }
inline float fold(F32x16 x) {
  const __m256 eight = _mm256_add_ps(lowHalf(x.v), highHalf(x.v));
  const __m128 four = _mm_add_ps(_mm256_castps256_ps128(eight), _mm256_extractf128_ps(eight, 1));
  const __m128 two = _mm_add_ps(four, _mm_movehl_ps(four, four));
  return _mm_cvtss_f32(_mm_add_ss(two, _mm_movehdup_ps(two)));
}
inline float foldLarger(F32x16 x) {
  const __m256 eight = _mm256_max_ps(lowHalf(x.v), highHalf(x.v));
  const __m128 four = _mm_max_ps(_mm256_castps256_ps128(eight), _mm256_extractf128_ps(eight, 1));
  const __m128 two = _mm_max_ps(four, _mm_movehl_ps(four, four));
  return _mm_cvtss_f32(_mm_max_ss(two, _mm_movehdup_ps(two)));
}

inline I32x16 bitsOf(F32x16 x) { return {_mm512_castps_si512(x.v)}; }
inline F32x16 floatOf(I32x16 x) { return {_mm512_castsi512_ps(x.v)}; }
inline I32x16 splatInt(std::int32_t x) { return {_mm512_set1_epi32(x)}; }
inline I32x16 addInt(I32x16 a, I32x16 b) { return {_mm512_add_epi32(a.v, b.v)}; }
inline I32x16 subInt(I32x16 a, I32x16 b) { return {_mm512_sub_epi32(a.v, b.v)}; }
inline I32x16 andInt(I32x16 a, I32x16 b) { return {_mm512_and_si512(a.v, b.v)}; }
inline I32x16 largerInt(I32x16 a, I32x16 b) { return {_mm512_max_epi32(a.v, b.v)}; }
inline std::int32_t foldLargerInt(I32x16 x) {
  const __m256i eight = _mm256_max_epi32(_mm512_castsi512_si256(x.v), _mm512_extracti64x4_epi64(x.v, 1));
  const __m128i four = _mm_max_epi32(_mm256_castsi256_si128(eight), _mm256_extracti128_si256(eight, 1));
  const __m128i two = _mm_max_epi32(four, _mm_shuffle_epi32(four, 0x4e));
  return _mm_cvtsi128_si32(_mm_max_epi32(two, _mm_shuffle_epi32(two, 0xb1)));
}
template <int N>
inline I32x16 shiftLeft(I32x16 a) {
  return {_mm512_slli_epi32(a.v, N)};
}
template <int N>
inline I32x16 shiftRight(I32x16 a) {
  return {_mm512_srai_epi32(a.v, N)};
}
inline I32x16 rounded(F32x16 x) { return {_mm512_cvtps_epi32(x.v)}; }
inline void storeInt16(std::int16_t* p, I32x16 x) { _mm256_storeu_si256(reinterpret_cast<__m256i*>(p), _mm512_cvtepi32_epi16(x.v)); }

inline __m128i load128(const std::byte* p) { return _mm_loadu_si128(reinterpret_cast<const __m128i*>(p)); }
inline __m256i load256(const std::byte* p) { return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)); }
inline __m512i load512(const std::byte* p) { return _mm512_loadu_si512(p); }
inline __m128i load64(const std::byte* p) { return _mm_loadl_epi64(reinterpret_cast<const __m128i*>(p)); }
inline __m128i load32(const std::byte* p) {
  std::int32_t v;
  __builtin_memcpy(&v, p, 4);
  return _mm_cvtsi32_si128(v);
}
/// Sixteen signed bytes as floats.
inline F32x16 floatsOfBytes(__m128i b) { return {_mm512_cvtepi32_ps(_mm512_cvtepi8_epi32(b))}; }
inline F32x16 loadBf16(const std::byte* p) {
  return {_mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(load256(p)), 16))};
}
inline F32x16 loadF16(const std::byte* p) { return {_mm512_cvtph_ps(load256(p))}; }
/// e4m3fn: its seven low bits are those of a binary16 with the exponent 8 less, so value = 2^8 * half; 0x7f alone is NaN.
inline F32x16 loadFp8(const std::byte* p) {
  const __m256i wide = _mm256_cvtepu8_epi16(load128(p));
  const __m256i magnitude = _mm256_and_si256(wide, _mm256_set1_epi16(0x7f));
  const __m256i nan = _mm256_cmpeq_epi16(magnitude, _mm256_set1_epi16(0x7f));
  const __m256i sign = _mm256_slli_epi16(_mm256_and_si256(wide, _mm256_set1_epi16(0x80)), 8);
  const __m256i half = _mm256_or_si256(_mm256_or_si256(_mm256_slli_epi16(magnitude, 7), sign), _mm256_and_si256(nan, _mm256_set1_epi16(0x7e00)));
  return {_mm512_mul_ps(_mm512_cvtph_ps(half), _mm512_set1_ps(256.0f))};
}
inline F32x16 loadInt8(const std::byte* p) { return floatsOfBytes(load128(p)); }
inline F32x16 loadInt4(const std::byte* p) {
  const __m128i raw = load64(p), mask = _mm_set1_epi8(15);
  const __m128i both = _mm_unpacklo_epi8(_mm_and_si128(raw, mask), _mm_and_si128(_mm_srli_epi16(raw, 4), mask));
  return floatsOfBytes(_mm_sub_epi8(both, _mm_set1_epi8(8)));
}
/// Lane i: the two-bit field i & 3 of byte i >> 2.
inline __m512i spreadPairs(const std::byte* p) {
  const __m128i each = _mm_shuffle_epi8(load32(p), _mm_setr_epi8(0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3));
  const __m512i shifts = _mm512_setr_epi32(0, 2, 4, 6, 0, 2, 4, 6, 0, 2, 4, 6, 0, 2, 4, 6);
  return _mm512_and_si512(_mm512_srlv_epi32(_mm512_cvtepu8_epi32(each), shifts), _mm512_set1_epi32(3));
}
inline F32x16 loadInt2(const std::byte* p) { return {_mm512_cvtepi32_ps(_mm512_sub_epi32(spreadPairs(p), _mm512_set1_epi32(2)))}; }
inline F32x16 loadInt3(const std::byte* low, const std::byte* high) {
  std::uint16_t bits;
  __builtin_memcpy(&bits, high, 2);
  const __m512i shifts = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
  const __m512i third = _mm512_and_si512(_mm512_srlv_epi32(_mm512_set1_epi32(bits), shifts), _mm512_set1_epi32(1));
  const __m512i code = _mm512_or_si512(spreadPairs(low), _mm512_slli_epi32(third, 2));
  return {_mm512_cvtepi32_ps(_mm512_sub_epi32(code, _mm512_set1_epi32(4)))};
}
/// Round to nearest even by integer addition; a NaN keeps its upper half with the quiet bit.
inline void storeBf16(std::byte* p, F32x16 x) {
  const __m512i bits = _mm512_castps_si512(x.v), upper = _mm512_srli_epi32(bits, 16);
  const __m512i bump = _mm512_add_epi32(_mm512_and_si512(upper, _mm512_set1_epi32(1)), _mm512_set1_epi32(0x7fff));
  const __m512i round = _mm512_srli_epi32(_mm512_add_epi32(bits, bump), 16);
  const __mmask16 nan = _mm512_cmpgt_epi32_mask(_mm512_and_si512(bits, _mm512_set1_epi32(0x7fffffff)), _mm512_set1_epi32(0x7f800000));
  const __m512i chosen = _mm512_mask_blend_epi32(nan, round, _mm512_or_si512(upper, _mm512_set1_epi32(0x40)));
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(p), _mm512_cvtepi32_epi16(chosen));
}
