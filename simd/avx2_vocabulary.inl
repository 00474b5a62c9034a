// The float vocabulary on AVX2, FMA and F16C: sixteen lanes in two registers. Arithmetic is xsimd's; bit patterns and stored formats are intrinsics.
// `Arch` is the including unit's own xsimd architecture, so that every instance of a batch is local to the unit (docs/decisions/0003).

using Batch = xsimd::batch<float, Arch>;
struct F32x16 {
  Batch lo, hi;
};
struct I32x16 {
  __m256i lo, hi;
};

inline float fusedOne(float a, float b, float c) { return _mm_cvtss_f32(_mm_fmadd_ss(_mm_set_ss(a), _mm_set_ss(b), _mm_set_ss(c))); }
inline float squareRoot(float x) { return _mm_cvtss_f32(_mm_sqrt_ss(_mm_set_ss(x))); }

inline F32x16 splat(float x) { return {Batch(x), Batch(x)}; }
inline F32x16 zero16() { return splat(0.0f); }
// Through the intrinsics: any address will do, also one that no float may have.
inline F32x16 load(const void* p) {
  const float* f = static_cast<const float*>(p);
  return {Batch(_mm256_loadu_ps(f)), Batch(_mm256_loadu_ps(f + 8))};
}
inline void store(float* p, F32x16 x) {
  x.lo.store_unaligned(p);
  x.hi.store_unaligned(p + 8);
}
struct Mask16 {
  __m256i lo, hi;
};
/// Lanes below n.
inline Mask16 firstLanes(int n) {
  const __m256i count = _mm256_set1_epi32(n);
  return {_mm256_cmpgt_epi32(count, _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7)), _mm256_cmpgt_epi32(count, _mm256_setr_epi32(8, 9, 10, 11, 12, 13, 14, 15))};
}
inline F32x16 loadFirst(const void* p, int n) {
  const Mask16 m = firstLanes(n);
  const float* f = static_cast<const float*>(p);
  return {Batch(_mm256_maskload_ps(f, m.lo)), Batch(_mm256_maskload_ps(f + 8, m.hi))};
}
inline void storeFirst(float* p, int n, F32x16 x) {
  const Mask16 m = firstLanes(n);
  _mm256_maskstore_ps(p, m.lo, x.lo);
  _mm256_maskstore_ps(p + 8, m.hi, x.hi);
}
inline F32x16 firstOf(int n, F32x16 a, F32x16 b) {
  const Mask16 m = firstLanes(n);
  return {Batch(_mm256_blendv_ps(b.lo, a.lo, _mm256_castsi256_ps(m.lo))), Batch(_mm256_blendv_ps(b.hi, a.hi, _mm256_castsi256_ps(m.hi)))};
}

inline F32x16 add(F32x16 a, F32x16 b) { return {a.lo + b.lo, a.hi + b.hi}; }
inline F32x16 sub(F32x16 a, F32x16 b) { return {a.lo - b.lo, a.hi - b.hi}; }
inline F32x16 mul(F32x16 a, F32x16 b) { return {a.lo * b.lo, a.hi * b.hi}; }
inline F32x16 divide(F32x16 a, F32x16 b) { return {a.lo / b.lo, a.hi / b.hi}; }
inline F32x16 fused(F32x16 a, F32x16 b, F32x16 c) { return {xsimd::fma(a.lo, b.lo, c.lo), xsimd::fma(a.hi, b.hi, c.hi)}; }
// xsimd's max and min are MAXPS and MINPS in this order: the second operand where either is NaN.
inline F32x16 larger(F32x16 a, F32x16 b) { return {xsimd::max(a.lo, b.lo), xsimd::max(a.hi, b.hi)}; }
inline F32x16 smaller(F32x16 a, F32x16 b) { return {xsimd::min(a.lo, b.lo), xsimd::min(a.hi, b.hi)}; }

inline float fold(F32x16 x) {
  const __m256 eight = x.lo + x.hi;
  const __m128 four = _mm_add_ps(_mm256_castps256_ps128(eight), _mm256_extractf128_ps(eight, 1));
  const __m128 two = _mm_add_ps(four, _mm_movehl_ps(four, four));
  return _mm_cvtss_f32(_mm_add_ss(two, _mm_movehdup_ps(two)));
}
inline float foldLarger(F32x16 x) {
  const __m256 eight = xsimd::max(x.lo, x.hi);
  const __m128 four = _mm_max_ps(_mm256_castps256_ps128(eight), _mm256_extractf128_ps(eight, 1));
  const __m128 two = _mm_max_ps(four, _mm_movehl_ps(four, four));
  return _mm_cvtss_f32(_mm_max_ss(two, _mm_movehdup_ps(two)));
}

inline I32x16 bitsOf(F32x16 x) { return {_mm256_castps_si256(x.lo), _mm256_castps_si256(x.hi)}; }
inline F32x16 floatOf(I32x16 x) { return {Batch(_mm256_castsi256_ps(x.lo)), Batch(_mm256_castsi256_ps(x.hi))}; }
inline I32x16 splatInt(std::int32_t x) { return {_mm256_set1_epi32(x), _mm256_set1_epi32(x)}; }
inline I32x16 addInt(I32x16 a, I32x16 b) { return {_mm256_add_epi32(a.lo, b.lo), _mm256_add_epi32(a.hi, b.hi)}; }
inline I32x16 subInt(I32x16 a, I32x16 b) { return {_mm256_sub_epi32(a.lo, b.lo), _mm256_sub_epi32(a.hi, b.hi)}; }
inline I32x16 andInt(I32x16 a, I32x16 b) { return {_mm256_and_si256(a.lo, b.lo), _mm256_and_si256(a.hi, b.hi)}; }
inline I32x16 largerInt(I32x16 a, I32x16 b) { return {_mm256_max_epi32(a.lo, b.lo), _mm256_max_epi32(a.hi, b.hi)}; }
inline std::int32_t foldLargerInt(I32x16 x) {
  const __m256i eight = _mm256_max_epi32(x.lo, x.hi);
  const __m128i four = _mm_max_epi32(_mm256_castsi256_si128(eight), _mm256_extracti128_si256(eight, 1));
  const __m128i two = _mm_max_epi32(four, _mm_shuffle_epi32(four, 0x4e));
  return _mm_cvtsi128_si32(_mm_max_epi32(two, _mm_shuffle_epi32(two, 0xb1)));
}
template <int N>
inline I32x16 shiftLeft(I32x16 a) {
  return {_mm256_slli_epi32(a.lo, N), _mm256_slli_epi32(a.hi, N)};
}
template <int N>
inline I32x16 shiftRight(I32x16 a) {
  return {_mm256_srai_epi32(a.lo, N), _mm256_srai_epi32(a.hi, N)};
}
inline I32x16 rounded(F32x16 x) { return {_mm256_cvtps_epi32(x.lo), _mm256_cvtps_epi32(x.hi)}; }
inline void storeInt16(std::int16_t* p, I32x16 x) {
  const __m256i packed = _mm256_permute4x64_epi64(_mm256_packs_epi32(x.lo, x.hi), 0xd8);
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(p), packed);
}

inline __m128i load128(const std::byte* p) { return _mm_loadu_si128(reinterpret_cast<const __m128i*>(p)); }
inline __m256i load256(const std::byte* p) { return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)); }
inline __m128i load64(const std::byte* p) { return _mm_loadl_epi64(reinterpret_cast<const __m128i*>(p)); }
inline __m128i load32(const std::byte* p) {
  std::int32_t v;
  __builtin_memcpy(&v, p, 4);
  return _mm_cvtsi32_si128(v);
}
/// Sixteen signed bytes as floats.
inline F32x16 floatsOfBytes(__m128i b) {
  return {Batch(_mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(b))), Batch(_mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(_mm_srli_si128(b, 8))))};
}
inline F32x16 loadBf16(const std::byte* p) {
  const __m256i lo = _mm256_cvtepu16_epi32(load128(p)), hi = _mm256_cvtepu16_epi32(load128(p + 16));
  return {Batch(_mm256_castsi256_ps(_mm256_slli_epi32(lo, 16))), Batch(_mm256_castsi256_ps(_mm256_slli_epi32(hi, 16)))};
}
inline F32x16 loadF16(const std::byte* p) { return {Batch(_mm256_cvtph_ps(load128(p))), Batch(_mm256_cvtph_ps(load128(p + 16)))}; }
/// e4m3fn: its seven low bits are those of a binary16 with the exponent 8 less, so value = 2^8 * half; 0x7f alone is NaN.
inline F32x16 loadFp8(const std::byte* p) {
  const __m256i wide = _mm256_cvtepu8_epi16(load128(p));
  const __m256i magnitude = _mm256_and_si256(wide, _mm256_set1_epi16(0x7f));
  const __m256i nan = _mm256_cmpeq_epi16(magnitude, _mm256_set1_epi16(0x7f));
  const __m256i sign = _mm256_slli_epi16(_mm256_and_si256(wide, _mm256_set1_epi16(0x80)), 8);
  const __m256i half = _mm256_or_si256(_mm256_or_si256(_mm256_slli_epi16(magnitude, 7), sign), _mm256_and_si256(nan, _mm256_set1_epi16(0x7e00)));
  const __m256 scale = _mm256_set1_ps(256.0f);
  return {Batch(_mm256_mul_ps(_mm256_cvtph_ps(_mm256_castsi256_si128(half)), scale)),
          Batch(_mm256_mul_ps(_mm256_cvtph_ps(_mm256_extracti128_si256(half, 1)), scale))};
}
inline F32x16 loadInt8(const std::byte* p) { return floatsOfBytes(load128(p)); }
inline F32x16 loadInt4(const std::byte* p) {
  const __m128i raw = load64(p), mask = _mm_set1_epi8(15);
  const __m128i both = _mm_unpacklo_epi8(_mm_and_si128(raw, mask), _mm_and_si128(_mm_srli_epi16(raw, 4), mask));
  return floatsOfBytes(_mm_sub_epi8(both, _mm_set1_epi8(8)));
}
/// Four bytes of two-bit fields to sixteen bytes.
inline __m128i spreadPairs(const std::byte* p) {
  const __m128i each = _mm_shuffle_epi8(load32(p), _mm_setr_epi8(0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3));
  // Shifting left by 6, 4, 2, 0 inside 16-bit words moves field k of a byte to its two high bits: multiply, then shift down.
  const __m128i even = _mm_mullo_epi16(_mm_and_si128(each, _mm_set1_epi16(0xff)), _mm_setr_epi16(64, 4, 64, 4, 64, 4, 64, 4));
  const __m128i odd = _mm_mullo_epi16(_mm_srli_epi16(each, 8), _mm_setr_epi16(16, 1, 16, 1, 16, 1, 16, 1));
  const __m128i low = _mm_and_si128(_mm_srli_epi16(even, 6), _mm_set1_epi16(3)), high = _mm_and_si128(_mm_srli_epi16(odd, 6), _mm_set1_epi16(3));
  return _mm_or_si128(low, _mm_slli_epi16(high, 8));
}
inline F32x16 loadInt2(const std::byte* p) { return floatsOfBytes(_mm_sub_epi8(spreadPairs(p), _mm_set1_epi8(2))); }
inline F32x16 loadInt3(const std::byte* low, const std::byte* high) {
  std::uint16_t bits;
  __builtin_memcpy(&bits, high, 2);
  const __m128i each = _mm_shuffle_epi8(_mm_set1_epi16(std::int16_t(bits)), _mm_setr_epi8(0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1));
  const __m128i select = _mm_setr_epi8(1, 2, 4, 8, 16, 32, 64, -128, 1, 2, 4, 8, 16, 32, 64, -128);
  const __m128i four = _mm_and_si128(_mm_cmpeq_epi8(_mm_and_si128(each, select), select), _mm_set1_epi8(4));
  return floatsOfBytes(_mm_sub_epi8(_mm_or_si128(spreadPairs(low), four), _mm_set1_epi8(4)));
}
/// Round to nearest even by integer addition; a NaN keeps its upper half with the quiet bit.
inline __m256i bf16Of(__m256i bits) {
  const __m256i upper = _mm256_srli_epi32(bits, 16);
  const __m256i bump = _mm256_add_epi32(_mm256_and_si256(upper, _mm256_set1_epi32(1)), _mm256_set1_epi32(0x7fff));
  const __m256i round = _mm256_srli_epi32(_mm256_add_epi32(bits, bump), 16);
  const __m256i nan = _mm256_cmpgt_epi32(_mm256_and_si256(bits, _mm256_set1_epi32(0x7fffffff)), _mm256_set1_epi32(0x7f800000));
  return _mm256_blendv_epi8(round, _mm256_or_si256(upper, _mm256_set1_epi32(0x40)), nan);
}
inline void storeBf16(std::byte* p, F32x16 x) {
  const I32x16 bits = bitsOf(x);
  const __m256i packed = _mm256_packus_epi32(bf16Of(bits.lo), bf16Of(bits.hi));
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(p), _mm256_permute4x64_epi64(packed, 0xd8));
}
