// The integer vocabulary in plain C++: four weight rows at a time, 64 columns a step, codes as the true values they stand for.

constexpr int kRows = 4;    // weight rows computed together
constexpr int kBlock = 64;  // columns a step

struct IntRows {
  std::int32_t v[kRows];
};
struct FloatRows {
  float v[kRows];
};
template <int Planes>
struct Block {
  std::int16_t v[64];
};
template <int Planes>
struct Codes {
  std::int16_t v[64];
};
/// Sums over the four runs of 16 columns of one row.
struct Partial {
  std::int32_t runs[4];
};
template <bool Runs>
struct Quad {
  Partial rows[4];
};

inline void prefetch(const std::byte*) {}

/// What a stored code is above the value it stands for.
template <WeightFormat F, int Planes>
constexpr int offsetOf() {
  return 0;
}

template <WeightFormat F, int Planes>
inline Block<Planes> unpack(const std::byte* p) {
  Block<Planes> r;
  if constexpr (F == WeightFormat::Int8) {
    for (int i = 0; i < 64; ++i) r.v[i] = std::int8_t(p[i]);
  } else if constexpr (F == WeightFormat::Int4) {
    for (int i = 0; i < 32; ++i) {
      r.v[2 * i] = std::int16_t((int(p[i]) & 15) - 8);
      r.v[2 * i + 1] = std::int16_t((int(p[i]) >> 4) - 8);
    }
  } else if constexpr (F == WeightFormat::Int3) {
    for (int i = 0; i < 64; ++i) {
      const int two = (int(p[i / 4]) >> (2 * (i & 3))) & 3, one = (int(p[16 + i / 8]) >> (i & 7)) & 1;
      r.v[i] = std::int16_t((two | (one << 2)) - 4);
    }
  } else {
    for (int i = 0; i < 64; ++i) r.v[i] = std::int16_t(((int(p[i / 4]) >> (2 * (i & 3))) & 3) - 2);
  }
  return r;
}
template <WeightFormat F, int Planes>
inline Codes<Planes> loadCodes(const std::byte* p) {
  Codes<Planes> r;
  for (int i = 0; i < 64; ++i) {
    if constexpr (Planes == 1) {
      r.v[i] = std::int8_t(p[codeAt<1>(i)]);
    } else {
      __builtin_memcpy(&r.v[i], p + 2 * codeAt<2>(i), 2);
    }
  }
  return r;
}
template <WeightFormat F, int Planes, bool Runs>
inline Partial dot(const Block<Planes>& w, const Codes<Planes>& q) {
  Partial r;
  for (int run = 0; run < 4; ++run) {
    std::int32_t sum = 0;
    for (int i = 0; i < 16; ++i) sum += std::int32_t(w.v[16 * run + i]) * std::int32_t(q.v[16 * run + i]);
    r.runs[run] = sum;
  }
  return r;
}
template <bool Runs>
inline Quad<Runs> quad(const Partial (&t)[4]) {
  return {{t[0], t[1], t[2], t[3]}};
}
/// One sum a group of 64 columns and row.
inline void joinGroups(const Quad<false> (&q)[kRows / 4], IntRows (&out)[kBlock / 64]) {
  for (int r = 0; r < kRows; ++r) {
    const std::int32_t(&s)[4] = q[0].rows[r].runs;
    out[0].v[r] = s[0] + s[1] + s[2] + s[3];
  }
}
/// One sum a run of 16 columns and row.
inline void joinRuns(const Quad<true> (&q)[kRows / 4], IntRows (&out)[kBlock / 16]) {
  for (int run = 0; run < 4; ++run) {
    for (int r = 0; r < kRows; ++r) out[run].v[r] = q[0].rows[r].runs[run];
  }
}
inline IntRows zeroInts() { return {}; }
inline IntRows addInts(IntRows a, IntRows b) {
  for (int r = 0; r < kRows; ++r) a.v[r] += b.v[r];
  return a;
}
inline IntRows minusInt(IntRows a, std::int32_t b) {
  for (int r = 0; r < kRows; ++r) a.v[r] -= b;
  return a;
}
inline FloatRows loadRows(const float* p) {
  FloatRows r;
  __builtin_memcpy(r.v, p, sizeof r.v);
  return r;
}
inline void storeRows(float* p, FloatRows x) { __builtin_memcpy(p, x.v, sizeof x.v); }
/// fma(float(sum), scale * x_scale, acc)
inline FloatRows addUnit(IntRows sum, FloatRows scale, float x_scale, FloatRows acc) {
  for (int r = 0; r < kRows; ++r) acc.v[r] = fusedOne(float(sum.v[r]), scale.v[r] * x_scale, acc.v[r]);
  return acc;
}
/// out[i][r] = scale i of row r; rows lie `stride` floats apart.
inline void transposeScales(const std::byte* scales, std::size_t stride, int count, float (*out)[kRows]) {
  for (int r = 0; r < kRows; ++r) {
    for (int i = 0; i < count; ++i) __builtin_memcpy(&out[i][r], scales + (std::size_t(r) * stride + std::size_t(i)) * 4, 4);
  }
}
