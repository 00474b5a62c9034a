// Integer products: kRows weight rows in the lanes, a block of kBlock columns a step, up to four activation rows for each unpacking.
// Every unit is an exact int32 sum, then one fma; units ascending, one accumulator an output: the one order (core/ports/kernels.h).

constexpr int kChunkCols = 1024;                   // columns whose scales are transposed at a time; a multiple of every kBlock
constexpr int kChunkScales = kChunkCols / 16 + 1;  // groups of 16 or more columns, one of them begun in the chunk before
constexpr int kTileRows = 32;                      // activation rows whose accumulators are kept at a time

template <WeightFormat F>
constexpr std::size_t groupBytes() {  // of 64 columns
  if constexpr (F == WeightFormat::Int8) return 64;
  if constexpr (F == WeightFormat::Int4) return 32;
  if constexpr (F == WeightFormat::Int3) return 24;
  return 16;
}
template <WeightFormat F>
constexpr std::size_t weightRowBytes(int cols) {
  const std::size_t n = std::size_t(cols);
  if constexpr (F == WeightFormat::Int8) return n;
  if constexpr (F == WeightFormat::Int4) return (n + 1) / 2;
  if constexpr (F == WeightFormat::Int3) return (n + 63) / 64 * 24;
  return (n + 3) / 4;
}

/// One row of activations from some block on.
struct ActivationRow {
  const std::byte* codes;
  const std::byte* scales;
  const std::byte* group_sums;
  const std::byte* run_sums;
};
inline ActivationRow activationAt(const std::byte* x, const ActivationParts& parts, int planes, int col) {
  const std::size_t c = std::size_t(col);
  return {x + c * std::size_t(planes), x + parts.scales + c / 16, x + parts.group_sums + c / 16, x + parts.run_sums + c / 4};
}
inline float floatAt(const std::byte* p, int i) {
  float f;
  __builtin_memcpy(&f, p + std::size_t(i) * 4, 4);
  return f;
}
inline std::int32_t intAt(const std::byte* p, int i) {
  std::int32_t v;
  __builtin_memcpy(&v, p + std::size_t(i) * 4, 4);
  return v;
}

/// Some blocks of kRows rows, and the scales of their columns.
struct WeightChunk {
  const std::byte* data;
  std::size_t stride;  // bytes from row to row
  int blocks, groups, runs;  // groups of 64 columns and runs of 16: the last block may hold fewer than it has room for
  int group, left;     // columns a scale; columns left of the first scale
  const float (*scales)[kRows];
};

template <WeightFormat F, int Planes, int S, bool Runs>
inline void productOfChunk(const WeightChunk& w, const ActivationRow* x, float (*acc)[kRows]) {
  constexpr int kGroups = kBlock / 64;
  constexpr std::size_t kBlockBytes = groupBytes<F>() * kGroups;
  constexpr std::int32_t kOffset = offsetOf<F, Planes>();
  FloatRows sum[S];
  SLUICE_UNROLL
  for (int s = 0; s < S; ++s) sum[s] = loadRows(acc[s]);
  int scale_index = 0, left = w.left;
  for (int b = 0; b < w.blocks; ++b) {
    Quad<Runs> quads[S][kRows / 4];
    SLUICE_UNROLL
    for (int k = 0; k < kRows / 4; ++k) {
      Partial t[S][4];
      const std::byte* first = w.data + std::size_t(4 * k) * w.stride + std::size_t(b) * kBlockBytes;
      const std::size_t code_at = std::size_t(b) * std::size_t(kBlock * Planes);
      if constexpr (F == WeightFormat::Int8) {
        // Codes have to be put in order, weights are ready: a batch row at a time.
        Block<Planes> rows[4];
        SLUICE_UNROLL
        for (int r = 0; r < 4; ++r) {
          prefetch(first + std::size_t(kRows + r) * w.stride);
          rows[r] = unpack<F, Planes>(first + std::size_t(r) * w.stride);
        }
        SLUICE_UNROLL
        for (int s = 0; s < S; ++s) {
          const Codes<Planes> q = loadCodes<F, Planes>(x[s].codes + code_at);
          SLUICE_UNROLL
          for (int r = 0; r < 4; ++r) t[s][r] = dot<F, Planes, Runs>(rows[r], q);
        }
      } else {
        // Weights have to be unpacked, codes are operands in memory: a weight row at a time.
        SLUICE_UNROLL
        for (int r = 0; r < 4; ++r) {
          prefetch(first + std::size_t(kRows + r) * w.stride);
          const Block<Planes> row = unpack<F, Planes>(first + std::size_t(r) * w.stride);
          SLUICE_UNROLL
          for (int s = 0; s < S; ++s) t[s][r] = dot<F, Planes, Runs>(row, loadCodes<F, Planes>(x[s].codes + code_at));
        }
      }
      SLUICE_UNROLL
      for (int s = 0; s < S; ++s) quads[s][k] = quad<Runs>(t[s]);
    }
    if constexpr (!Runs) {
      const float* scale[kGroups];
      SLUICE_UNROLL
      for (int g = 0; g < kGroups; ++g) {
        scale[g] = w.scales[scale_index];
        left -= 64;
        if (left <= 0) {
          ++scale_index;
          left += w.group;
        }
      }
      SLUICE_UNROLL
      for (int s = 0; s < S; ++s) {
        IntRows unit[kGroups];
        joinGroups(quads[s], unit);
        SLUICE_UNROLL
        for (int g = 0; g < kGroups; ++g) {
          const int at = b * kGroups + g;
          if (kGroups > 1 && at >= w.groups) break;
          if constexpr (kOffset != 0) unit[g] = minusInt(unit[g], kOffset * intAt(x[s].group_sums, at));
          sum[s] = addUnit(unit[g], loadRows(scale[g]), floatAt(x[s].scales, at), sum[s]);
        }
      }
    } else {
      const float* scale[4 * kGroups];
      bool ends[4 * kGroups];
      for (int i = 0; i < 4 * kGroups; ++i) {
        scale[i] = w.scales[scale_index];
        left -= 16;
        ends[i] = left == 0 || (i & 3) == 3 || b * 4 * kGroups + i == w.runs - 1;
        if (left == 0) {
          ++scale_index;
          left = w.group;
        }
      }
      for (int s = 0; s < S; ++s) {
        IntRows runs[4 * kGroups];
        joinRuns(quads[s], runs);
        IntRows unit = zeroInts();
        for (int i = 0; i < 4 * kGroups; ++i) {
          const int at = b * 4 * kGroups + i;
          if (at >= w.runs) break;  // no unit behind the row's end: there is no scale for it
          unit = addInts(unit, runs[i]);
          if constexpr (kOffset != 0) unit = minusInt(unit, kOffset * intAt(x[s].run_sums, at));
          if (ends[i]) {
            sum[s] = addUnit(unit, loadRows(scale[i]), floatAt(x[s].scales, at / 4), sum[s]);
            unit = zeroInts();
          }
        }
      }
    }
  }
  SLUICE_UNROLL
  for (int s = 0; s < S; ++s) storeRows(acc[s], sum[s]);
}

template <WeightFormat F, int Planes, bool Runs>
inline void productOfRows(const WeightChunk& w, const ActivationParts& parts, const std::byte* const* x, int x_rows, int col, float (*acc)[kRows]) {
  ActivationRow rows[4];
  for (int s = 0; s < x_rows;) {
    const int n = x_rows - s >= 4 ? 4 : x_rows - s >= 2 ? 2 : 1;
    for (int i = 0; i < n; ++i) rows[i] = activationAt(x[s + i], parts, Planes, col);
    if (n == 4) {
      productOfChunk<F, Planes, 4, Runs>(w, rows, acc + s);
    } else if (n == 2) {
      productOfChunk<F, Planes, 2, Runs>(w, rows, acc + s);
    } else {
      productOfChunk<F, Planes, 1, Runs>(w, rows, acc + s);
    }
    s += n;
  }
}

/// kRows rows from `row` on, or that one row in every lane (repeat): the first `rows` lanes are stored.
template <WeightFormat F, int Planes, bool Runs>
inline void productOfRowBlock(const IntProductArgs& a, int row, bool repeat) {
  const WeightMatrix& w = *a.w;
  const std::size_t row_bytes = weightRowBytes<F>(w.cols);
  const std::size_t scales_a_row = w.group >= w.cols ? 1 : (std::size_t(w.cols) + std::size_t(w.group) - 1) / std::size_t(w.group);
  const int group = w.group >= w.cols ? 0x3fffffff : w.group;
  const std::byte* data = w.data + std::size_t(row) * row_bytes;
  const std::byte* scales = reinterpret_cast<const std::byte*>(w.scales) + std::size_t(row) * scales_a_row * 4;
  const std::size_t stride = repeat ? 0 : row_bytes, scale_stride = repeat ? 0 : scales_a_row;
  const ActivationParts parts = partsOf<kBlock>(w.cols, Planes);
  constexpr std::size_t kBlockBytes = groupBytes<F>() * (kBlock / 64);

  for (int x0 = 0; x0 < a.x_rows; x0 += kTileRows) {
    const int x_rows = a.x_rows - x0 < kTileRows ? a.x_rows - x0 : kTileRows;
    float acc[kTileRows][kRows];
    for (int s = 0; s < x_rows; ++s) {
      for (float& v : acc[s]) v = 0.0f;
    }
    for (int col = 0; col < w.cols; col += kChunkCols) {
      const int cols = w.cols - col < kChunkCols ? w.cols - col : kChunkCols;
      const int first = col / group, last = (col + cols - 1) / group;
      float transposed[kChunkScales + kBlock / 16][kRows];
      transposeScales(scales + std::size_t(first) * 4, scale_stride, last - first + 1, transposed);
      WeightChunk chunk;
      chunk.stride = stride;
      chunk.group = group;
      chunk.scales = transposed;
      // Whole blocks where they lie.
      const std::size_t begin = std::size_t(col) / 64 * groupBytes<F>();
      const std::size_t available = row_bytes - begin < kChunkCols / 64 * groupBytes<F>() ? row_bytes - begin : kChunkCols / 64 * groupBytes<F>();
      chunk.data = data + begin;
      chunk.blocks = int(available / kBlockBytes);
      chunk.groups = (cols + 63) / 64;
      chunk.runs = (cols + 15) / 16;
      chunk.left = group - (col - first * group);
      if (chunk.blocks > 0) productOfRows<F, Planes, Runs>(chunk, parts, a.x + x0, x_rows, col, acc);
      // The rest of the row from a copy, so that nothing behind it is read. Codes behind the row's end are zero, whatever the weights there.
      const std::size_t done = std::size_t(chunk.blocks) * kBlockBytes;
      if (done < available) {
        std::byte tail[kRows][kBlockBytes] = {};
        for (int r = 0; r < kRows; ++r) __builtin_memcpy(tail[r], data + std::size_t(r) * stride + begin + done, available - done);
        const int tail_col = col + chunk.blocks * kBlock;
        WeightChunk rest = chunk;
        rest.data = tail[0];
        rest.stride = kBlockBytes;
        rest.blocks = 1;
        rest.groups = (w.cols - tail_col + 63) / 64;
        rest.runs = (w.cols - tail_col + 15) / 16;
        const int scale_index = tail_col / group;
        rest.scales = transposed + (scale_index - first);
        rest.left = group - (tail_col - scale_index * group);
        productOfRows<F, Planes, Runs>(rest, parts, a.x + x0, x_rows, tail_col, acc);
      }
    }
    for (int s = 0; s < x_rows; ++s) {
      for (int r = 0; r < (repeat ? 1 : kRows); ++r) a.y[x0 + s][row + r] = acc[s][r];
    }
  }
}

template <WeightFormat F, int Planes, bool Runs>
inline void productOfRange(const IntProductArgs& a) {
  if (a.row_end - a.row_begin < kRows) {
    for (int row = a.row_begin; row < a.row_end; ++row) productOfRowBlock<F, Planes, Runs>(a, row, true);
    return;
  }
  // The last block steps back so that it is whole; the rows it shares with the one before get the same values again.
  for (int row = a.row_begin; row < a.row_end; row += kRows) {
    productOfRowBlock<F, Planes, Runs>(a, row <= a.row_end - kRows ? row : a.row_end - kRows, false);
  }
}

template <WeightFormat F>
inline void productOfFormat(const IntProductArgs& a) {
  const bool runs = a.w->group < a.w->cols && a.w->group % 64 != 0;
  if (a.planes == 1) {
    if (runs) {
      productOfRange<F, 1, true>(a);
    } else {
      productOfRange<F, 1, false>(a);
    }
  } else if (runs) {
    productOfRange<F, 2, true>(a);
  } else {
    productOfRange<F, 2, false>(a);
  }
}

inline void intProduct(const IntProductArgs& a) noexcept {
  switch (a.w->format) {
    case WeightFormat::Int8: productOfFormat<WeightFormat::Int8>(a); return;
    case WeightFormat::Int4: productOfFormat<WeightFormat::Int4>(a); return;
    case WeightFormat::Int3: productOfFormat<WeightFormat::Int3>(a); return;
    case WeightFormat::Int2: productOfFormat<WeightFormat::Int2>(a); return;
    case WeightFormat::F32:
    case WeightFormat::Bf16:
    case WeightFormat::F16:
    case WeightFormat::Fp8: return;  // the door checked: not an integer format
  }
}
