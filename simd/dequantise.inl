// Stored weights as floats, sixteen at a time: float(code) * scale for integers and Fp8, the value itself otherwise.

template <WeightFormat F>
inline F32x16 codes16(const std::byte* row, int col) {
  const std::size_t c = std::size_t(col);
  if constexpr (F == WeightFormat::F32) return load(row + 4 * c);
  if constexpr (F == WeightFormat::Bf16) return loadBf16(row + 2 * c);
  if constexpr (F == WeightFormat::F16) return loadF16(row + 2 * c);
  if constexpr (F == WeightFormat::Fp8) return loadFp8(row + c);
  if constexpr (F == WeightFormat::Int8) return loadInt8(row + c);
  if constexpr (F == WeightFormat::Int4) return loadInt4(row + c / 2);
  if constexpr (F == WeightFormat::Int3) return loadInt3(row + c / 64 * 24 + c % 64 / 4, row + c / 64 * 24 + 16 + c % 64 / 8);
  if constexpr (F == WeightFormat::Int2) return loadInt2(row + c / 4);
}
template <WeightFormat F>
constexpr std::size_t storedBytes(int cols) {  // of a row of cols columns
  const std::size_t n = std::size_t(cols);
  if constexpr (F == WeightFormat::F32) return 4 * n;
  if constexpr (F == WeightFormat::Bf16 || F == WeightFormat::F16) return 2 * n;
  if constexpr (F == WeightFormat::Fp8) return n;
  if constexpr (F == WeightFormat::Int8 || F == WeightFormat::Int4 || F == WeightFormat::Int3 || F == WeightFormat::Int2) return weightRowBytes<F>(cols);
}
/// The first n < 16 values from col on; the other lanes are of no meaning. Reads nothing behind them.
template <WeightFormat F>
inline F32x16 firstCodes(const std::byte* row, int col, int n) {
  if constexpr (F == WeightFormat::F32) return loadFirst(row + 4 * std::size_t(col), n);
  if constexpr (F == WeightFormat::Int3) return codes16<F>(row, col);  // rows of whole groups
  std::byte copy[64] = {};
  __builtin_memcpy(copy, row + storedBytes<F>(col), storedBytes<F>(n));
  return codes16<F>(copy, 0);
}
template <WeightFormat F>
constexpr bool hasScales() {
  return !(F == WeightFormat::F32 || F == WeightFormat::Bf16 || F == WeightFormat::F16);
}

/// out[0, end - begin) = values of columns [begin, end) of `row`; begin is a multiple of 16.
template <WeightFormat F>
inline void dequantise(const WeightMatrix& w, int row, int begin, int end, float* out) {
  const std::byte* data = w.data + std::size_t(row) * storedBytes<F>(w.cols);
  if constexpr (!hasScales<F>()) {
    int col = begin;
    for (; col + 16 <= end; col += 16) store(out + (col - begin), codes16<F>(data, col));
    if (col < end) storeFirst(out + (col - begin), end - col, firstCodes<F>(data, col, end - col));
  } else {
    constexpr bool kFp8 = F == WeightFormat::Fp8;
    const int given = kFp8 ? w.block_cols : w.group, group = given >= w.cols ? w.cols : given;
    const std::size_t scales_a_row = (std::size_t(w.cols) + std::size_t(group) - 1) / std::size_t(group);
    const std::byte* scales = reinterpret_cast<const std::byte*>(w.scales) + std::size_t(kFp8 ? row / w.block_rows : row) * scales_a_row * 4;
    int index = begin / group, left = group - begin % group;
    for (int col = begin; col < end; col += 16) {
      const int n = end - col < 16 ? end - col : 16;
      F32x16 scale;
      if (left >= n) {
        scale = splat(floatAt(scales, index));
        left -= 16;
        if (left <= 0 && col + 16 < end) {
          ++index;
          left += group;
        }
      } else {  // a border inside the sixteen (blocks whose width is no multiple of 16)
        float each[16] = {};
        for (int i = 0; i < n; ++i) each[i] = floatAt(scales, (col + i) / group);
        scale = load(each);
        index = (col + 16) / group;
        left = group - (col + 16) % group;
      }
      if (n == 16) {
        store(out + (col - begin), mul(codes16<F>(data, col), scale));
      } else {
        storeFirst(out + (col - begin), n, mul(firstCodes<F>(data, col, n), scale));
      }
    }
  }
}

/// Calls body with the format as a constant: body.template operator()<F>().
template <class Body>
inline void withFormat(WeightFormat format, Body body) {
  switch (format) {
    case WeightFormat::F32: body.template operator()<WeightFormat::F32>(); return;
    case WeightFormat::Bf16: body.template operator()<WeightFormat::Bf16>(); return;
    case WeightFormat::F16: body.template operator()<WeightFormat::F16>(); return;
    case WeightFormat::Fp8: body.template operator()<WeightFormat::Fp8>(); return;
    case WeightFormat::Int8: body.template operator()<WeightFormat::Int8>(); return;
    case WeightFormat::Int4: body.template operator()<WeightFormat::Int4>(); return;
    case WeightFormat::Int3: body.template operator()<WeightFormat::Int3>(); return;
    case WeightFormat::Int2: body.template operator()<WeightFormat::Int2>(); return;
  }
}

inline void dequantiseRow(const DequantiseRowArgs& a) noexcept {
  withFormat(a.w->format, [&]<WeightFormat F>() { dequantise<F>(*a.w, a.row, 0, a.w->cols, a.out); });
}
