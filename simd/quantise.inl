// Activations to integer codes, a group of 64 columns at a time.

inline std::size_t activationBytes(int cols, int planes) noexcept { return partsOf<kBlock>(cols, planes).bytes; }

/// The codes of one group in natural order; returns the group's scale. n <= 64 values; the rest are zeros.
inline float quantiseGroup(const float* x, int n, float top, std::int16_t (&codes)[64]) {
  F32x16 v[4];
  I32x16 most = splatInt(0);
  const I32x16 magnitude = splatInt(0x7fffffff);
  for (int i = 0; i < 4; ++i) {
    const int left = n - 16 * i;
    v[i] = left >= 16 ? load(x + 16 * i) : left > 0 ? loadFirst(x + 16 * i, left) : zero16();
    most = largerInt(most, andInt(bitsOf(v[i]), magnitude));
  }
  const std::int32_t most_bits = foldLargerInt(most);
  float scale, inverse = 0.0f;
  if (most_bits >= 0x7f800000) {
    scale = __builtin_nanf("");
  } else {
    float most_value;
    __builtin_memcpy(&most_value, &most_bits, 4);
    scale = most_value / top;
    if (scale < 0x1p-126f) {
      scale = 0.0f;
    } else {
      inverse = 1.0f / scale;
    }
  }
  for (int i = 0; i < 4; ++i) {
    const I32x16 q = inverse == 0.0f ? splatInt(0) : rounded(mul(v[i], splat(inverse)));
    storeInt16(codes + 16 * i, q);
  }
  return scale;
}

template <int Planes>
inline void writeGroup(const std::int16_t (&codes)[64], std::byte* block, int half) {
  // Groups share a block of kBlock columns: the order inside the block is codeAt's, spelled so that compilers see plain strided copies.
  if constexpr (Planes == 1) {
    std::int8_t even[32], odd[32];
    for (int k = 0; k < 32; ++k) even[k] = std::int8_t(codes[2 * k]);
    for (int k = 0; k < 32; ++k) odd[k] = std::int8_t(codes[2 * k + 1]);
    __builtin_memcpy(block + 32 * half, even, 32);
    __builtin_memcpy(block + kBlock / 2 + 32 * half, odd, 32);
  } else {
    for (int phase = 0; phase < 4; ++phase) {
      std::int16_t part[16];
      for (int k = 0; k < 16; ++k) part[k] = codes[4 * k + phase];
      __builtin_memcpy(block + 2 * (phase * (kBlock / 4) + 16 * half), part, 32);
    }
  }
}

template <int Planes>
inline void quantisePlanes(const QuantiseArgs& a) {
  const ActivationParts parts = partsOf<kBlock>(a.cols, Planes);
  // Whoever writes the last group also clears the groups that fill its block.
  const int groups_all = (a.cols + kBlock - 1) / kBlock * (kBlock / 64);
  const int group_end = a.col_end >= a.cols ? groups_all : a.col_end / 64;
  for (int g = a.col_begin / 64; g < group_end; ++g) {
    std::int16_t codes[64];
    const int left = a.cols - 64 * g;
    const float scale = quantiseGroup(a.x + (left > 0 ? 64 * g : 0), left > 64 ? 64 : left > 0 ? left : 0, Planes == 1 ? 127.0f : 32512.0f, codes);
    writeGroup<Planes>(codes, a.out + std::size_t(64 * g / kBlock) * std::size_t(kBlock * Planes), g % (kBlock / 64));
    std::int32_t sums[4], sum = 0;
    for (int run = 0; run < 4; ++run) {
      std::int32_t s = 0;
      for (int i = 0; i < 16; ++i) s += codes[16 * run + i];
      sums[run] = s;
      sum += s;
    }
    __builtin_memcpy(a.out + parts.scales + 4 * std::size_t(g), &scale, 4);
    __builtin_memcpy(a.out + parts.group_sums + 4 * std::size_t(g), &sum, 4);
    __builtin_memcpy(a.out + parts.run_sums + 16 * std::size_t(g), sums, 16);
  }
}

inline void quantise(const QuantiseArgs& a) noexcept {
  if (a.planes == 1) {
    quantisePlanes<1>(a);
  } else {
    quantisePlanes<2>(a);
  }
}
