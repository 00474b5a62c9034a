// The integer vocabulary on AVX-512 with VNNI: sixteen weight rows in the lanes, 128 columns a step.
//
// The order of codes is that of simd/avx2_blocks.inl at twice the width: a Partial's sixteen lanes are two for each run of 16 columns, in order.
// VPDPBUSD and VPDPWSSD add to int32 without saturation.

constexpr int kRows = 16;
constexpr int kBlock = 128;

using IntRows = __m512i;
using FloatRows = __m512;
using Partial = __m512i;
template <int Planes>
struct Block {
  __m512i v[2 * Planes];
};
template <int Planes>
struct Codes {
  __m512i v[2 * Planes];
};
template <bool Runs>
struct Quad {  // four rows: their sums, or those of runs 0, 2, 4, 6 and of runs 1, 3, 5, 7
  __m512i v[Runs ? 2 : 1];
};

// Into the second cache, the rows after these.
inline void prefetch(const std::byte* p) { _mm_prefetch(reinterpret_cast<const char*>(p), _MM_HINT_T1); }

template <WeightFormat F, int Planes>
constexpr int offsetOf() {
  // VPDPBUSD wants one operand unsigned: Int8 weights are shifted by 128.
  return F == WeightFormat::Int4 ? 8 : F == WeightFormat::Int3 ? 4 : F == WeightFormat::Int2 ? 2 : Planes == 1 ? 128 : 0;
}

inline __m512i joined(__m256i low, __m256i high) { return _mm512_inserti64x4(_mm512_castsi256_si512(low), high, 1); }
inline __m256i joined(__m128i low, __m128i high) { return _mm256_inserti128_si256(_mm256_castsi128_si256(low), high, 1); }
/// Two-bit fields, a word each.
template <int Column>
inline __m512i pairOf(__m512i words) {
  return _mm512_and_si512(Column == 0 ? words : _mm512_srli_epi16(words, 2 * Column), _mm512_set1_epi16(3));
}
/// The third bits of two groups of Int3: nibble k of sixteen bytes to word k.
inline __m512i highBits(const std::byte* first, const std::byte* second) {
  const __m128i raw = _mm_unpacklo_epi64(load64(first), load64(second)), mask = _mm_set1_epi8(15);
  const __m128i low = _mm_and_si128(raw, mask), high = _mm_and_si128(_mm_srli_epi16(raw, 4), mask);
  return _mm512_cvtepu8_epi16(joined(_mm_unpacklo_epi8(low, high), _mm_unpackhi_epi8(low, high)));
}
/// The third bit of column 4k + Column, in place at 4.
template <int Column>
inline __m512i thirdBit(__m512i bits) {
  const __m512i moved = Column <= 2 ? _mm512_slli_epi16(bits, 2 - (Column <= 2 ? Column : 2)) : _mm512_srli_epi16(bits, 1);
  return _mm512_and_si512(moved, _mm512_set1_epi16(4));
}

template <WeightFormat F, int Planes>
inline Block<Planes> unpack(const std::byte* p) {
  Block<Planes> r;
  if constexpr (F == WeightFormat::Int8) {
    // Lanes {columns 0-15, 32-47, 64-79, 96-111} and the runs between: what unpacking even with odd codes gives.
    const __m512i first = load512(p), second = load512(p + 64);
    const __m512i a = _mm512_shuffle_i32x4(first, second, 0x88), b = _mm512_shuffle_i32x4(first, second, 0xdd);
    if constexpr (Planes == 1) {
      r.v[0] = _mm512_xor_si512(a, _mm512_set1_epi8(-128));
      r.v[1] = _mm512_xor_si512(b, _mm512_set1_epi8(-128));
    } else {
      r.v[0] = _mm512_srai_epi16(_mm512_slli_epi16(a, 8), 8);
      r.v[1] = _mm512_srai_epi16(a, 8);
      r.v[2] = _mm512_srai_epi16(_mm512_slli_epi16(b, 8), 8);
      r.v[3] = _mm512_srai_epi16(b, 8);
    }
  } else if constexpr (F == WeightFormat::Int4) {
    const __m512i raw = load512(p);
    if constexpr (Planes == 1) {
      const __m512i mask = _mm512_set1_epi8(15);
      r.v[0] = _mm512_and_si512(raw, mask);
      r.v[1] = _mm512_and_si512(_mm512_srli_epi16(raw, 4), mask);
    } else {
      const __m512i mask = _mm512_set1_epi16(15);
      r.v[0] = _mm512_and_si512(raw, mask);
      r.v[1] = _mm512_and_si512(_mm512_srli_epi16(raw, 4), mask);
      r.v[2] = _mm512_and_si512(_mm512_srli_epi16(raw, 8), mask);
      r.v[3] = _mm512_srli_epi16(raw, 12);
    }
  } else {
    const __m512i words = _mm512_cvtepu8_epi16(F == WeightFormat::Int3 ? joined(load128(p), load128(p + 24)) : load256(p));
    __m512i c0 = pairOf<0>(words), c1 = pairOf<1>(words), c2 = pairOf<2>(words), c3 = pairOf<3>(words);
    if constexpr (F == WeightFormat::Int3) {
      const __m512i bits = highBits(p + 16, p + 40);
      c0 = _mm512_or_si512(c0, thirdBit<0>(bits));
      c1 = _mm512_or_si512(c1, thirdBit<1>(bits));
      c2 = _mm512_or_si512(c2, thirdBit<2>(bits));
      c3 = _mm512_or_si512(c3, thirdBit<3>(bits));
    }
    if constexpr (Planes == 1) {
      r.v[0] = _mm512_or_si512(c0, _mm512_slli_epi16(c2, 8));
      r.v[1] = _mm512_or_si512(c1, _mm512_slli_epi16(c3, 8));
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
    const __m512i even = load512(p), odd = load512(p + 64);
    r.v[0] = F == WeightFormat::Int8 ? _mm512_unpacklo_epi8(even, odd) : even;
    r.v[1] = F == WeightFormat::Int8 ? _mm512_unpackhi_epi8(even, odd) : odd;
  } else {
    const __m512i c0 = load512(p), c1 = load512(p + 64), c2 = load512(p + 128), c3 = load512(p + 192);
    r.v[0] = F == WeightFormat::Int8 ? _mm512_unpacklo_epi16(c0, c2) : c0;
    r.v[1] = F == WeightFormat::Int8 ? _mm512_unpacklo_epi16(c1, c3) : c1;
    r.v[2] = F == WeightFormat::Int8 ? _mm512_unpackhi_epi16(c0, c2) : c2;
    r.v[3] = F == WeightFormat::Int8 ? _mm512_unpackhi_epi16(c1, c3) : c3;
  }
  return r;
}

/// Sums of neighbouring lanes: of a, then of b, in each quarter.
inline __m512i addPairs(__m512i a, __m512i b) {
  const __m512 fa = _mm512_castsi512_ps(a), fb = _mm512_castsi512_ps(b);
  return _mm512_add_epi32(_mm512_castps_si512(_mm512_shuffle_ps(fa, fb, 0x88)), _mm512_castps_si512(_mm512_shuffle_ps(fa, fb, 0xdd)));
}

template <WeightFormat F, int Planes, bool Runs>
inline Partial dot(const Block<Planes>& w, const Codes<Planes>& q) {
  const __m512i zero = _mm512_setzero_si512();
  if constexpr (Planes == 1) {
    const __m512i a = _mm512_dpbusd_epi32(zero, w.v[0], q.v[0]);
    if constexpr (F == WeightFormat::Int8 && Runs) return addPairs(a, _mm512_dpbusd_epi32(zero, w.v[1], q.v[1]));
    return _mm512_dpbusd_epi32(a, w.v[1], q.v[1]);
  } else {
    const __m512i a = _mm512_dpwssd_epi32(_mm512_dpwssd_epi32(zero, w.v[0], q.v[0]), w.v[1], q.v[1]);
    if constexpr (F == WeightFormat::Int8 && Runs) return addPairs(a, _mm512_dpwssd_epi32(_mm512_dpwssd_epi32(zero, w.v[2], q.v[2]), w.v[3], q.v[3]));
    return _mm512_dpwssd_epi32(_mm512_dpwssd_epi32(a, w.v[2], q.v[2]), w.v[3], q.v[3]);
  }
}

template <bool Runs>
inline Quad<Runs> quad(const Partial (&t)[4]) {
  const __m512i ab = addPairs(t[0], t[1]), cd = addPairs(t[2], t[3]);
  if constexpr (Runs) {
    const __m512 fa = _mm512_castsi512_ps(ab), fb = _mm512_castsi512_ps(cd);
    return {{_mm512_castps_si512(_mm512_shuffle_ps(fa, fb, 0x88)), _mm512_castps_si512(_mm512_shuffle_ps(fa, fb, 0xdd))}};
  } else {
    return {{addPairs(ab, cd)}};
  }
}
/// Even quarters of a, then of b; odd ones.
inline __m512i evenQuarters(__m512i a, __m512i b) { return _mm512_shuffle_i32x4(a, b, 0x88); }
inline __m512i oddQuarters(__m512i a, __m512i b) { return _mm512_shuffle_i32x4(a, b, 0xdd); }
inline void joinGroups(const Quad<false> (&q)[kRows / 4], IntRows (&out)[kBlock / 64]) {
  const __m512i low = _mm512_add_epi32(evenQuarters(q[0].v[0], q[1].v[0]), oddQuarters(q[0].v[0], q[1].v[0]));
  const __m512i high = _mm512_add_epi32(evenQuarters(q[2].v[0], q[3].v[0]), oddQuarters(q[2].v[0], q[3].v[0]));
  out[0] = evenQuarters(low, high);
  out[1] = oddQuarters(low, high);
}
inline void joinRuns(const Quad<true> (&q)[kRows / 4], IntRows (&out)[kBlock / 16]) {
  for (int odd = 0; odd < 2; ++odd) {
    const __m512i e01 = evenQuarters(q[0].v[odd], q[1].v[odd]), e23 = evenQuarters(q[2].v[odd], q[3].v[odd]);
    const __m512i o01 = oddQuarters(q[0].v[odd], q[1].v[odd]), o23 = oddQuarters(q[2].v[odd], q[3].v[odd]);
    out[odd] = evenQuarters(e01, e23);
    out[2 + odd] = evenQuarters(o01, o23);
    out[4 + odd] = oddQuarters(e01, e23);
    out[6 + odd] = oddQuarters(o01, o23);
  }
}
inline IntRows zeroInts() { return _mm512_setzero_si512(); }
inline IntRows addInts(IntRows a, IntRows b) { return _mm512_add_epi32(a, b); }
inline IntRows minusInt(IntRows a, std::int32_t b) { return _mm512_sub_epi32(a, _mm512_set1_epi32(b)); }
inline FloatRows loadRows(const float* p) { return _mm512_loadu_ps(p); }
inline void storeRows(float* p, FloatRows x) { _mm512_storeu_ps(p, x); }
inline FloatRows addUnit(IntRows sum, FloatRows scale, float x_scale, FloatRows acc) {
  return _mm512_fmadd_ps(_mm512_cvtepi32_ps(sum), _mm512_mul_ps(scale, _mm512_set1_ps(x_scale)), acc);
}

/// The same four scales of rows 0, 4, 8 and 12 from p on.
inline __m512 everyFourth(const std::byte* p, std::size_t row) {
  const __m256i low = joined(load128(p), load128(p + 4 * row)), high = joined(load128(p + 8 * row), load128(p + 12 * row));
  return _mm512_castsi512_ps(joined(low, high));
}
/// Four scales of sixteen rows: a 4x4 transposition in each quarter.
inline void transposeFour(const std::byte* p, std::size_t row, float (*out)[kRows]) {
  const __m512 r0 = everyFourth(p, row), r1 = everyFourth(p + row, row), r2 = everyFourth(p + 2 * row, row), r3 = everyFourth(p + 3 * row, row);
  const __m512 t0 = _mm512_unpacklo_ps(r0, r1), t1 = _mm512_unpackhi_ps(r0, r1), t2 = _mm512_unpacklo_ps(r2, r3), t3 = _mm512_unpackhi_ps(r2, r3);
  _mm512_storeu_ps(out[0], _mm512_shuffle_ps(t0, t2, 0x44));
  _mm512_storeu_ps(out[1], _mm512_shuffle_ps(t0, t2, 0xee));
  _mm512_storeu_ps(out[2], _mm512_shuffle_ps(t1, t3, 0x44));
  _mm512_storeu_ps(out[3], _mm512_shuffle_ps(t1, t3, 0xee));
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
