// Integer dot products on AVX2. All sums are exact: nothing here can saturate.

template <WeightFormat F, int Planes>
constexpr int offsetOf() {
  return F == WeightFormat::Int4 ? 8 : F == WeightFormat::Int3 ? 4 : F == WeightFormat::Int2 ? 2 : 0;
}

template <WeightFormat F, int Planes, bool Runs>
inline Partial dot(const Block<Planes>& w, const Codes<Planes>& q) {
  if constexpr (Planes == 1) {
    const __m256i ones = _mm256_set1_epi16(1);
    if constexpr (F == WeightFormat::Int8) {
      // |w| as unsigned and q with w's sign: a pair is at most 2 * 128 * 127 = 32512, inside int16.
      const __m256i a = _mm256_maddubs_epi16(_mm256_abs_epi8(w.v[0]), _mm256_sign_epi8(q.v[0], w.v[0]));
      const __m256i b = _mm256_maddubs_epi16(_mm256_abs_epi8(w.v[1]), _mm256_sign_epi8(q.v[1], w.v[1]));
      return joinInt8<Runs>(_mm256_madd_epi16(a, ones), _mm256_madd_epi16(b, ones));
    } else {
      // Two pairs of at most 2 * 15 * 127 = 3810 each.
      return _mm256_madd_epi16(_mm256_add_epi16(_mm256_maddubs_epi16(w.v[0], q.v[0]), _mm256_maddubs_epi16(w.v[1], q.v[1])), ones);
    }
  } else {
    const __m256i a = _mm256_add_epi32(_mm256_madd_epi16(w.v[0], q.v[0]), _mm256_madd_epi16(w.v[1], q.v[1]));
    const __m256i b = _mm256_add_epi32(_mm256_madd_epi16(w.v[2], q.v[2]), _mm256_madd_epi16(w.v[3], q.v[3]));
    if constexpr (F == WeightFormat::Int8) return joinInt8<Runs>(a, b);
    return _mm256_add_epi32(a, b);
  }
}
