// What the integer vocabularies of AVX2 and AVX-VNNI share: eight weight rows in the lanes, 64 columns a step.
//
// The codes of a block lie as the weights' bits do. In 8 bits: 32 even columns, then 32 odd ones, as the low and the high nibbles of 32 bytes. In 16
// bits: columns 4k, 4k+1, 4k+2, 4k+3, as the four nibbles of sixteen words. So a Partial's eight lanes are two for each run of 16 columns, in order.
// Int8 weights are taken as lanes {columns 0-15, 32-47} and {16-31, 48-63}, which is what unpacking even with odd codes gives.

constexpr int kRows = 8;
constexpr int kBlock = 64;

using IntRows = __m256i;
using FloatRows = __m256;
using Partial = __m256i;
template <int Planes>
struct Block {
  __m256i v[2 * Planes];
};
template <int Planes>
struct Codes {
  __m256i v[2 * Planes];
};
template <bool Runs>
struct Quad {  // four rows: their sums, or those of runs 0 and 2 and of runs 1 and 3
  __m256i v[Runs ? 2 : 1];
};

// Into the second cache, the rows after these: without it the one-row product waits for memory a third of its time.
inline void prefetch(const std::byte* p) { _mm_prefetch(reinterpret_cast<const char*>(p), _MM_HINT_T1); }

/// Two-bit fields of 16 bytes, a word each.
template <int Column>
inline __m256i pairOf(__m256i words) {
  return _mm256_and_si256(Column == 0 ? words : _mm256_srli_epi16(words, 2 * Column), _mm256_set1_epi16(3));
}
/// The third bit of Int3: nibble k of eight bytes to word k.
inline __m256i highBits(const std::byte* p) {
  const __m128i raw = load64(p), mask = _mm_set1_epi8(15);
  return _mm256_cvtepu8_epi16(_mm_unpacklo_epi8(_mm_and_si128(raw, mask), _mm_and_si128(_mm_srli_epi16(raw, 4), mask)));
}
/// Column 4k + Column of two-bit fields and third bits, in place at 4.
template <int Column>
inline __m256i thirdBit(__m256i bits) {
  const __m256i moved = Column <= 2 ? _mm256_slli_epi16(bits, 2 - (Column <= 2 ? Column : 2)) : _mm256_srli_epi16(bits, 1);
  return _mm256_and_si256(moved, _mm256_set1_epi16(4));
}

template <WeightFormat F, int Planes>
inline Block<Planes> unpack(const std::byte* p) {
  Block<Planes> r;
  if constexpr (F == WeightFormat::Int8) {
    const __m256i a = _mm256_inserti128_si256(_mm256_castsi128_si256(load128(p)), load128(p + 32), 1);
    const __m256i b = _mm256_inserti128_si256(_mm256_castsi128_si256(load128(p + 16)), load128(p + 48), 1);
    if constexpr (Planes == 1) {
      r.v[0] = a;
      r.v[1] = b;
    } else {
      r.v[0] = _mm256_srai_epi16(_mm256_slli_epi16(a, 8), 8);
      r.v[1] = _mm256_srai_epi16(a, 8);
      r.v[2] = _mm256_srai_epi16(_mm256_slli_epi16(b, 8), 8);
      r.v[3] = _mm256_srai_epi16(b, 8);
    }
  } else if constexpr (F == WeightFormat::Int4) {
    const __m256i raw = load256(p);
    if constexpr (Planes == 1) {
      const __m256i mask = _mm256_set1_epi8(15);
      r.v[0] = _mm256_and_si256(raw, mask);
      r.v[1] = _mm256_and_si256(_mm256_srli_epi16(raw, 4), mask);
    } else {
      const __m256i mask = _mm256_set1_epi16(15);
      r.v[0] = _mm256_and_si256(raw, mask);
      r.v[1] = _mm256_and_si256(_mm256_srli_epi16(raw, 4), mask);
      r.v[2] = _mm256_and_si256(_mm256_srli_epi16(raw, 8), mask);
      r.v[3] = _mm256_srli_epi16(raw, 12);
    }
  } else {
    const __m256i words = _mm256_cvtepu8_epi16(load128(p));
    __m256i c0 = pairOf<0>(words), c1 = pairOf<1>(words), c2 = pairOf<2>(words), c3 = pairOf<3>(words);
    if constexpr (F == WeightFormat::Int3) {
      const __m256i bits = highBits(p + 16);
      c0 = _mm256_or_si256(c0, thirdBit<0>(bits));
      c1 = _mm256_or_si256(c1, thirdBit<1>(bits));
      c2 = _mm256_or_si256(c2, thirdBit<2>(bits));
      c3 = _mm256_or_si256(c3, thirdBit<3>(bits));
    }
    if constexpr (Planes == 1) {
      r.v[0] = _mm256_or_si256(c0, _mm256_slli_epi16(c2, 8));
      r.v[1] = _mm256_or_si256(c1, _mm256_slli_epi16(c3, 8));
    } else {
      r.v[0] = c0;
      r.v[1] = c1;
      r.v[2] = c2;
      r.v[3] = c3;
    }
  }
  return r;
}

template <WeightFormat F, int Planes>
inline Codes<Planes> loadCodes(const std::byte* p) {
  Codes<Planes> r;
  if constexpr (Planes == 1) {
    const __m256i even = load256(p), odd = load256(p + 32);
    r.v[0] = F == WeightFormat::Int8 ? _mm256_unpacklo_epi8(even, odd) : even;
    r.v[1] = F == WeightFormat::Int8 ? _mm256_unpackhi_epi8(even, odd) : odd;
  } else {
    const __m256i c0 = load256(p), c1 = load256(p + 32), c2 = load256(p + 64), c3 = load256(p + 96);
    r.v[0] = F == WeightFormat::Int8 ? _mm256_unpacklo_epi16(c0, c2) : c0;
    r.v[1] = F == WeightFormat::Int8 ? _mm256_unpacklo_epi16(c1, c3) : c1;
    r.v[2] = F == WeightFormat::Int8 ? _mm256_unpackhi_epi16(c0, c2) : c2;
    r.v[3] = F == WeightFormat::Int8 ? _mm256_unpackhi_epi16(c1, c3) : c3;
  }
  return r;
}

/// Sums of neighbouring lanes: of a, then of b, in each half.
inline __m256i addPairs(__m256i a, __m256i b) {
  const __m256 fa = _mm256_castsi256_ps(a), fb = _mm256_castsi256_ps(b);
  return _mm256_add_epi32(_mm256_castps_si256(_mm256_shuffle_ps(fa, fb, 0x88)), _mm256_castps_si256(_mm256_shuffle_ps(fa, fb, 0xdd)));
}
/// Int8's two vectors, four lanes a run: {0, 2} and {1, 3}. In order only where runs matter.
template <bool Runs>
inline Partial joinInt8(__m256i a, __m256i b) {
  if constexpr (Runs) return addPairs(a, b);
  return _mm256_add_epi32(a, b);
}

template <bool Runs>
inline Quad<Runs> quad(const Partial (&t)[4]) {
  const __m256i ab = addPairs(t[0], t[1]), cd = addPairs(t[2], t[3]);
  if constexpr (Runs) {
    const __m256 fa = _mm256_castsi256_ps(ab), fb = _mm256_castsi256_ps(cd);
    return {{_mm256_castps_si256(_mm256_shuffle_ps(fa, fb, 0x88)), _mm256_castps_si256(_mm256_shuffle_ps(fa, fb, 0xdd))}};
  } else {
    return {{addPairs(ab, cd)}};
  }
}
// By extracting and inserting: VPERM2I128 is eight operations on first generation Zen.
inline void joinGroups(const Quad<false> (&q)[kRows / 4], IntRows (&out)[kBlock / 64]) {
  const __m128i low = _mm_add_epi32(_mm256_castsi256_si128(q[0].v[0]), _mm256_extracti128_si256(q[0].v[0], 1));
  const __m128i high = _mm_add_epi32(_mm256_castsi256_si128(q[1].v[0]), _mm256_extracti128_si256(q[1].v[0], 1));
  out[0] = _mm256_inserti128_si256(_mm256_castsi128_si256(low), high, 1);
}
inline void joinRuns(const Quad<true> (&q)[kRows / 4], IntRows (&out)[kBlock / 16]) {
  out[0] = _mm256_permute2x128_si256(q[0].v[0], q[1].v[0], 0x20);
  out[1] = _mm256_permute2x128_si256(q[0].v[1], q[1].v[1], 0x20);
  out[2] = _mm256_permute2x128_si256(q[0].v[0], q[1].v[0], 0x31);
  out[3] = _mm256_permute2x128_si256(q[0].v[1], q[1].v[1], 0x31);
}
inline IntRows zeroInts() { return _mm256_setzero_si256(); }
inline IntRows addInts(IntRows a, IntRows b) { return _mm256_add_epi32(a, b); }
inline IntRows minusInt(IntRows a, std::int32_t b) { return _mm256_sub_epi32(a, _mm256_set1_epi32(b)); }
inline FloatRows loadRows(const float* p) { return _mm256_loadu_ps(p); }
inline void storeRows(float* p, FloatRows x) { _mm256_storeu_ps(p, x); }
inline FloatRows addUnit(IntRows sum, FloatRows scale, float x_scale, FloatRows acc) {
  return _mm256_fmadd_ps(_mm256_cvtepi32_ps(sum), _mm256_mul_ps(scale, _mm256_set1_ps(x_scale)), acc);
}

inline __m256 halves(const std::byte* low, const std::byte* high) {
  const __m128 a = _mm_loadu_ps(reinterpret_cast<const float*>(low)), b = _mm_loadu_ps(reinterpret_cast<const float*>(high));
  return _mm256_insertf128_ps(_mm256_castps128_ps256(a), b, 1);
}
/// Four scales of eight rows: a 4x4 transposition in each half.
inline void transposeFour(const std::byte* p, std::size_t row, float (*out)[kRows]) {
  const __m256 r0 = halves(p, p + 4 * row), r1 = halves(p + row, p + 5 * row), r2 = halves(p + 2 * row, p + 6 * row), r3 = halves(p + 3 * row, p + 7 * row);
  const __m256 t0 = _mm256_unpacklo_ps(r0, r1), t1 = _mm256_unpackhi_ps(r0, r1), t2 = _mm256_unpacklo_ps(r2, r3), t3 = _mm256_unpackhi_ps(r2, r3);
  _mm256_storeu_ps(out[0], _mm256_shuffle_ps(t0, t2, 0x44));
  _mm256_storeu_ps(out[1], _mm256_shuffle_ps(t0, t2, 0xee));
  _mm256_storeu_ps(out[2], _mm256_shuffle_ps(t1, t3, 0x44));
  _mm256_storeu_ps(out[3], _mm256_shuffle_ps(t1, t3, 0xee));
}
inline void transposeScales(const std::byte* scales, std::size_t stride, int count, float (*out)[kRows]) {
  int i = 0;
  for (int r = 0; r < kRows; ++r) {
    for (int line = 0; line < count; line += 16) prefetch(scales + (std::size_t(kRows + r) * stride + std::size_t(line)) * 4);
  }
  for (; i + 4 <= count; i += 4) transposeFour(scales + std::size_t(i) * 4, stride * 4, out + i);
  for (; i < count; ++i) {
    for (int r = 0; r < kRows; ++r) __builtin_memcpy(&out[i][r], scales + (std::size_t(r) * stride + std::size_t(i)) * 4, 4);
  }
}
