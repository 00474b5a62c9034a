// The float vocabulary in plain C++: sixteen lanes in an array. This is the specification that every other vocabulary equals to the bit.
// Included inside an anonymous namespace of an ISA (simd/scalar_kernels.cpp), so nothing here is visible to the linker.

struct F32x16 {
  float v[16];
};
struct I32x16 {
  std::int32_t v[16];
};

// a * b + c with one rounding, on machines without FMA. The product of two floats is exact in double. The sum is rounded to odd in double (when it is
// inexact and its last bit even, the neighbour towards the lost part is taken), so the second rounding, to float, cannot land on a false tie.
inline float fusedOne(float a, float b, float c) {
  const double product = double(a) * double(b);
  const double addend = double(c);
  const double sum = product + addend;
  const double taken = sum - product;
  const double lost = (product - (sum - taken)) + (addend - taken);
  std::uint64_t bits, lost_bits;
  __builtin_memcpy(&bits, &sum, 8);
  __builtin_memcpy(&lost_bits, &lost, 8);
  constexpr std::uint64_t kInfinity = 0x7ff0000000000000u;
  const bool nudge = (lost != 0.0) & ((bits & 1u) == 0u) & ((bits & kInfinity) != kInfinity);
  const std::uint64_t towards = ((bits ^ lost_bits) >> 63) != 0u ? ~std::uint64_t{0} : std::uint64_t{1};
  bits += nudge ? towards : 0u;
  double odd;
  __builtin_memcpy(&odd, &bits, 8);
  return float(odd);
}
inline float squareRoot(float x) { return __builtin_sqrtf(x); }

inline F32x16 splat(float x) {
  F32x16 r;
  for (float& lane : r.v) lane = x;
  return r;
}
inline F32x16 zero16() { return splat(0.0f); }
inline F32x16 load(const void* p) {
  F32x16 r;
  __builtin_memcpy(r.v, p, sizeof r.v);
  return r;
}
inline void store(float* p, F32x16 x) { __builtin_memcpy(p, x.v, sizeof x.v); }
/// The first n lanes from p, the others 0. 0 <= n <= 16.
inline F32x16 loadFirst(const void* p, int n) {
  F32x16 r = zero16();
  __builtin_memcpy(r.v, p, std::size_t(n) * sizeof(float));
  return r;
}
inline void storeFirst(float* p, int n, F32x16 x) { __builtin_memcpy(p, x.v, std::size_t(n) * sizeof(float)); }
/// The first n lanes of a, the others of b.
inline F32x16 firstOf(int n, F32x16 a, F32x16 b) {
  F32x16 r;
  for (int i = 0; i < 16; ++i) r.v[i] = i < n ? a.v[i] : b.v[i];
  return r;
}

inline F32x16 add(F32x16 a, F32x16 b) {
  F32x16 r;
  for (int i = 0; i < 16; ++i) r.v[i] = a.v[i] + b.v[i];
  return r;
}
inline F32x16 sub(F32x16 a, F32x16 b) {
  F32x16 r;
  for (int i = 0; i < 16; ++i) r.v[i] = a.v[i] - b.v[i];
  return r;
}
inline F32x16 mul(F32x16 a, F32x16 b) {
  F32x16 r;
  for (int i = 0; i < 16; ++i) r.v[i] = a.v[i] * b.v[i];
  return r;
}
inline F32x16 divide(F32x16 a, F32x16 b) {
  F32x16 r;
  for (int i = 0; i < 16; ++i) r.v[i] = a.v[i] / b.v[i];
  return r;
}
inline F32x16 fused(F32x16 a, F32x16 b, F32x16 c) {
  F32x16 r;
  for (int i = 0; i < 16; ++i) r.v[i] = fusedOne(a.v[i], b.v[i], c.v[i]);
  return r;
}
/// a > b ? a : b, so b where either is NaN.
inline F32x16 larger(F32x16 a, F32x16 b) {
  F32x16 r;
  for (int i = 0; i < 16; ++i) r.v[i] = a.v[i] > b.v[i] ? a.v[i] : b.v[i];
  return r;
}
/// a < b ? a : b, so b where either is NaN.
inline F32x16 smaller(F32x16 a, F32x16 b) {
  F32x16 r;
  for (int i = 0; i < 16; ++i) r.v[i] = a.v[i] < b.v[i] ? a.v[i] : b.v[i];
  return r;
}
/// Lanes fold 8, 4, 2, 1.
inline float fold(F32x16 x) {
  for (int width = 8; width >= 1; width /= 2) {
    for (int i = 0; i < width; ++i) x.v[i] += x.v[i + width];
  }
  return x.v[0];
}
inline float foldLarger(F32x16 x) {
  for (int width = 8; width >= 1; width /= 2) {
    for (int i = 0; i < width; ++i) x.v[i] = x.v[i] > x.v[i + width] ? x.v[i] : x.v[i + width];
  }
  return x.v[0];
}

inline I32x16 bitsOf(F32x16 x) {
  I32x16 r;
  __builtin_memcpy(r.v, x.v, sizeof r.v);
  return r;
}
inline F32x16 floatOf(I32x16 x) {
  F32x16 r;
  __builtin_memcpy(r.v, x.v, sizeof r.v);
  return r;
}
inline I32x16 splatInt(std::int32_t x) {
  I32x16 r;
  for (std::int32_t& lane : r.v) lane = x;
  return r;
}
// Wraps, as the machines do.
inline I32x16 addInt(I32x16 a, I32x16 b) {
  I32x16 r;
  for (int i = 0; i < 16; ++i) r.v[i] = std::int32_t(std::uint32_t(a.v[i]) + std::uint32_t(b.v[i]));
  return r;
}
inline I32x16 subInt(I32x16 a, I32x16 b) {
  I32x16 r;
  for (int i = 0; i < 16; ++i) r.v[i] = std::int32_t(std::uint32_t(a.v[i]) - std::uint32_t(b.v[i]));
  return r;
}
inline I32x16 andInt(I32x16 a, I32x16 b) {
  I32x16 r;
  for (int i = 0; i < 16; ++i) r.v[i] = a.v[i] & b.v[i];
  return r;
}
inline I32x16 largerInt(I32x16 a, I32x16 b) {
  I32x16 r;
  for (int i = 0; i < 16; ++i) r.v[i] = a.v[i] > b.v[i] ? a.v[i] : b.v[i];
  return r;
}
inline std::int32_t foldLargerInt(I32x16 x) {
  std::int32_t most = x.v[0];
  for (int i = 1; i < 16; ++i) most = x.v[i] > most ? x.v[i] : most;
  return most;
}
template <int N>
inline I32x16 shiftLeft(I32x16 a) {
  I32x16 r;
  for (int i = 0; i < 16; ++i) r.v[i] = std::int32_t(std::uint32_t(a.v[i]) << N);
  return r;
}
/// Arithmetic.
template <int N>
inline I32x16 shiftRight(I32x16 a) {
  I32x16 r;
  for (int i = 0; i < 16; ++i) r.v[i] = a.v[i] >> N;
  return r;
}
/// Round to nearest even; |x| < 2^22.
inline I32x16 rounded(F32x16 x) {
  constexpr float kMagic = 12582912.0f;  // 1.5 * 2^23: the sum's last bit is worth 1
  I32x16 r = bitsOf(add(x, splat(kMagic)));
  return subInt(r, bitsOf(splat(kMagic)));
}
inline void storeInt16(std::int16_t* p, I32x16 x) {
  for (int i = 0; i < 16; ++i) p[i] = std::int16_t(x.v[i]);
}

// Sixteen stored values as floats.
inline F32x16 loadBf16(const std::byte* p) {
  std::uint16_t raw[16];
  __builtin_memcpy(raw, p, sizeof raw);
  I32x16 r;
  for (int i = 0; i < 16; ++i) r.v[i] = std::int32_t(std::uint32_t(raw[i]) << 16);
  return floatOf(r);
}
inline F32x16 loadF16(const std::byte* p) {
  std::uint16_t raw[16];
  __builtin_memcpy(raw, p, sizeof raw);
  F32x16 r;
  for (int i = 0; i < 16; ++i) r.v[i] = f16ToFloat(raw[i]);
  return r;
}
inline F32x16 loadFp8(const std::byte* p) {
  F32x16 r;
  for (int i = 0; i < 16; ++i) r.v[i] = e4m3ToFloat(std::uint8_t(p[i]));
  return r;
}
inline F32x16 loadInt8(const std::byte* p) {
  F32x16 r;
  for (int i = 0; i < 16; ++i) r.v[i] = float(std::int8_t(p[i]));
  return r;
}
inline F32x16 loadInt4(const std::byte* p) {
  F32x16 r;
  for (int i = 0; i < 16; ++i) r.v[i] = float(((int(p[i / 2]) >> (4 * (i & 1))) & 15) - 8);
  return r;
}
inline F32x16 loadInt3(const std::byte* low, const std::byte* high) {
  F32x16 r;
  for (int i = 0; i < 16; ++i) {
    const int two = (int(low[i / 4]) >> (2 * (i & 3))) & 3, one = (int(high[i / 8]) >> (i & 7)) & 1;
    r.v[i] = float((two | (one << 2)) - 4);
  }
  return r;
}
inline F32x16 loadInt2(const std::byte* p) {
  F32x16 r;
  for (int i = 0; i < 16; ++i) r.v[i] = float(((int(p[i / 4]) >> (2 * (i & 3))) & 3) - 2);
  return r;
}
inline void storeBf16(std::byte* p, F32x16 x) {
  std::uint16_t raw[16];
  for (int i = 0; i < 16; ++i) raw[i] = floatToBf16(x.v[i]);
  __builtin_memcpy(p, raw, sizeof raw);
}
