// Float products: dot16 against dequantised rows, and the transposed product along the rows.

constexpr int kDotRows = 4;    // weight rows at a time: enough independent sums to hide the latency of fma
constexpr int kDotCols = 256;  // columns dequantised at a time
constexpr int kDotTile = 32;   // activation rows that share a dequantised chunk

/// acc[i] += lanes of w[i][0, n) * x[0, n).
inline void dotFourRows(const float* const (&w)[kDotRows], const float* x, int n, F32x16 (&acc)[kDotRows]) {
  F32x16 a0 = acc[0], a1 = acc[1], a2 = acc[2], a3 = acc[3];
  int c = 0;
  for (; c + 16 <= n; c += 16) {
    const F32x16 v = load(x + c);
    a0 = fused(load(w[0] + c), v, a0);
    a1 = fused(load(w[1] + c), v, a1);
    a2 = fused(load(w[2] + c), v, a2);
    a3 = fused(load(w[3] + c), v, a3);
  }
  if (c < n) {
    const int left = n - c;
    const F32x16 v = loadFirst(x + c, left);
    a0 = firstOf(left, fused(loadFirst(w[0] + c, left), v, a0), a0);
    a1 = firstOf(left, fused(loadFirst(w[1] + c, left), v, a1), a1);
    a2 = firstOf(left, fused(loadFirst(w[2] + c, left), v, a2), a2);
    a3 = firstOf(left, fused(loadFirst(w[3] + c, left), v, a3), a3);
  }
  acc[0] = a0;
  acc[1] = a1;
  acc[2] = a2;
  acc[3] = a3;
}

/// One activation row against formats without scales: read, widened and used, never stored.
template <WeightFormat F>
inline void floatProductOfOne(const FloatProductArgs& a) {
  const std::size_t row_bytes = storedBytes<F>(a.w->cols);
  const float* x = a.x[0];
  const int cols = a.w->cols, whole = cols / 16 * 16;
  for (int row = a.row_begin; row < a.row_end; row += kDotRows) {
    const std::byte* w[kDotRows];
    for (int i = 0; i < kDotRows; ++i) w[i] = a.w->data + std::size_t(row + i < a.row_end ? row + i : a.row_end - 1) * row_bytes;
    F32x16 a0 = zero16(), a1 = a0, a2 = a0, a3 = a0;
    for (int c = 0; c < whole; c += 16) {
      const F32x16 v = load(x + c);
      a0 = fused(codes16<F>(w[0], c), v, a0);
      a1 = fused(codes16<F>(w[1], c), v, a1);
      a2 = fused(codes16<F>(w[2], c), v, a2);
      a3 = fused(codes16<F>(w[3], c), v, a3);
    }
    if (whole < cols) {
      const int left = cols - whole;
      const F32x16 v = loadFirst(x + whole, left);
      a0 = firstOf(left, fused(firstCodes<F>(w[0], whole, left), v, a0), a0);
      a1 = firstOf(left, fused(firstCodes<F>(w[1], whole, left), v, a1), a1);
      a2 = firstOf(left, fused(firstCodes<F>(w[2], whole, left), v, a2), a2);
      a3 = firstOf(left, fused(firstCodes<F>(w[3], whole, left), v, a3), a3);
    }
    const float y[kDotRows] = {fold(a0), fold(a1), fold(a2), fold(a3)};
    for (int i = 0; i < kDotRows && row + i < a.row_end; ++i) a.y[0][row + i] = y[i];
  }
}

template <WeightFormat F>
inline void floatProductOfFormat(const FloatProductArgs& a) {
  const int cols = a.w->cols;
  for (int row = a.row_begin; row < a.row_end; row += kDotRows) {
    const int rows = a.row_end - row < kDotRows ? a.row_end - row : kDotRows;
    for (int x0 = 0; x0 < a.x_rows; x0 += kDotTile) {
      const int x_rows = a.x_rows - x0 < kDotTile ? a.x_rows - x0 : kDotTile;
      F32x16 acc[kDotTile][kDotRows];
      for (int s = 0; s < x_rows; ++s) {
        for (F32x16& lanes : acc[s]) lanes = zero16();
      }
      float scratch[kDotRows][kDotCols];
      for (int c = 0; c < cols; c += kDotCols) {
        const int end = cols - c < kDotCols ? cols : c + kDotCols;
        for (int i = 0; i < rows; ++i) dequantise<F>(*a.w, row + i, c, end, scratch[i]);
        const float* w[kDotRows];
        for (int i = 0; i < kDotRows; ++i) w[i] = scratch[i < rows ? i : rows - 1];
        for (int s = 0; s < x_rows; ++s) dotFourRows(w, a.x[x0 + s] + c, end - c, acc[s]);
      }
      for (int s = 0; s < x_rows; ++s) {
        for (int i = 0; i < rows; ++i) a.y[x0 + s][row + i] = fold(acc[s][i]);
      }
    }
  }
}

inline void floatProduct(const FloatProductArgs& a) noexcept {
  withFormat(a.w->format, [&]<WeightFormat F>() {
    if constexpr (!hasScales<F>()) {
      if (a.x_rows == 1) {
        floatProductOfOne<F>(a);
        return;
      }
    }
    floatProductOfFormat<F>(a);
  });
}

constexpr int kAlongRows = 32;  // weight rows dequantised at a time
constexpr int kAlongCols = 64;  // columns of y in registers: four vectors

template <WeightFormat F>
inline void transposedProductOfFormat(const TransposedProductArgs& a) {
  const int cols = a.w->cols;
  for (int c = 0; c < cols; c += kAlongCols) {
    const int n = cols - c < kAlongCols ? cols - c : kAlongCols;
    for (int s = 0; s < a.x_rows; ++s) {
      for (int i = 0; i < n; ++i) a.y[s][c + i] = 0.0f;
    }
    float scratch[kAlongRows][kAlongCols] = {};
    for (int row = a.row_begin; row < a.row_end; row += kAlongRows) {
      const int rows = a.row_end - row < kAlongRows ? a.row_end - row : kAlongRows;
      for (int r = 0; r < rows; ++r) dequantise<F>(*a.w, row + r, c, c + n, scratch[r]);
      for (int s = 0; s < a.x_rows; ++s) {
        const float* x = a.x[s] + (row - a.row_begin);
        float kept[kAlongCols] = {};
        float* y = n == kAlongCols ? a.y[s] + c : kept;
        if (n < kAlongCols) __builtin_memcpy(kept, a.y[s] + c, std::size_t(n) * 4);
        F32x16 y0 = load(y), y1 = load(y + 16), y2 = load(y + 32), y3 = load(y + 48);
        for (int r = 0; r < rows; ++r) {
          const F32x16 v = splat(x[r]);
          y0 = fused(v, load(scratch[r]), y0);
          y1 = fused(v, load(scratch[r] + 16), y1);
          y2 = fused(v, load(scratch[r] + 32), y2);
          y3 = fused(v, load(scratch[r] + 48), y3);
        }
        store(y, y0);
        store(y + 16, y1);
        store(y + 32, y2);
        store(y + 48, y3);
        if (n < kAlongCols) __builtin_memcpy(a.y[s] + c, kept, std::size_t(n) * 4);
      }
    }
  }
}

inline void transposedProduct(const TransposedProductArgs& a) noexcept {
  withFormat(a.w->format, [&]<WeightFormat F>() { transposedProductOfFormat<F>(a); });
}
