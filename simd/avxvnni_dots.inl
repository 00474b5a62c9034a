// Integer dot products on AVX-VNNI, 256 bits: VPDPBUSD and VPDPWSSD add to int32 without saturation.

template <WeightFormat F, int Planes>
constexpr int offsetOf() {
  // VPDPBUSD wants one operand unsigned: Int8 weights are shifted by 128.
  return F == WeightFormat::Int4 ? 8 : F == WeightFormat::Int3 ? 4 : F == WeightFormat::Int2 ? 2 : Planes == 1 ? 128 : 0;
}

template <WeightFormat F, int Planes, bool Runs>
inline Partial dot(const Block<Planes>& w, const Codes<Planes>& q) {
  const __m256i zero = _mm256_setzero_si256();
  if constexpr (Planes == 1) {
    if constexpr (F == WeightFormat::Int8) {
      const __m256i shift = _mm256_set1_epi8(-128);
      const __m256i a = _mm256_dpbusd_avx_epi32(zero, _mm256_xor_si256(w.v[0], shift), q.v[0]);
      if constexpr (!Runs) return _mm256_dpbusd_avx_epi32(a, _mm256_xor_si256(w.v[1], shift), q.v[1]);
      return joinInt8<Runs>(a, _mm256_dpbusd_avx_epi32(zero, _mm256_xor_si256(w.v[1], shift), q.v[1]));
    } else {
      return _mm256_dpbusd_avx_epi32(_mm256_dpbusd_avx_epi32(zero, w.v[0], q.v[0]), w.v[1], q.v[1]);
    }
  } else {
    const __m256i a = _mm256_dpwssd_avx_epi32(_mm256_dpwssd_avx_epi32(zero, w.v[0], q.v[0]), w.v[1], q.v[1]);
    if constexpr (F == WeightFormat::Int8 && Runs) {
      return joinInt8<Runs>(a, _mm256_dpwssd_avx_epi32(_mm256_dpwssd_avx_epi32(zero, w.v[2], q.v[2]), w.v[3], q.v[3]));
    } else {
      return _mm256_dpwssd_avx_epi32(_mm256_dpwssd_avx_epi32(a, w.v[2], q.v[2]), w.v[3], q.v[3]);
    }
  }
}
