// Attention over cached rows: a row is read and widened once for several heads.

constexpr int kHeads = 4;       // heads that share a widened row: eight 256-bit sums
constexpr int kPositions = 32;  // positions whose rows stay in the cache while all heads pass over them

template <RowFormat R>
inline F32x16 cached16(const std::byte* row, int col) {
  if constexpr (R == RowFormat::F32) return load(row + 4 * std::size_t(col));
  if constexpr (R == RowFormat::Bf16) return loadBf16(row + 2 * std::size_t(col));
}
template <RowFormat R>
inline F32x16 firstCached(const std::byte* row, int col, int n) {
  if constexpr (R == RowFormat::F32) return loadFirst(row + 4 * std::size_t(col), n);
  std::byte copy[32] = {};
  __builtin_memcpy(copy, row + 2 * std::size_t(col), 2 * std::size_t(n));
  return loadBf16(copy);
}
template <RowFormat R>
inline const std::byte* cachedRow(const CachedRows& rows, int position) {
  constexpr std::size_t kValue = R == RowFormat::F32 ? 4 : 2;
  return rows.slabs[position / rows.slab_rows] + std::size_t(position % rows.slab_rows) * std::size_t(rows.width) * kValue;
}

/// out[h] = dot16(q + h * width, row) for `heads` <= kHeads.
template <RowFormat R>
inline void dotHeads(const float* q, int heads, const std::byte* row, int width, float (&out)[kHeads]) {
  const std::size_t stride = std::size_t(width);
  const float* q0 = q;
  const float* q1 = heads > 1 ? q + stride : q;
  const float* q2 = heads > 2 ? q + 2 * stride : q;
  const float* q3 = heads > 3 ? q + 3 * stride : q;
  F32x16 a0 = zero16(), a1 = a0, a2 = a0, a3 = a0;
  int c = 0;
  for (; c + 16 <= width; c += 16) {
    const F32x16 v = cached16<R>(row, c);
    a0 = fused(load(q0 + c), v, a0);
    a1 = fused(load(q1 + c), v, a1);
    a2 = fused(load(q2 + c), v, a2);
    a3 = fused(load(q3 + c), v, a3);
  }
  if (c < width) {
    const int left = width - c;
    const F32x16 v = firstCached<R>(row, c, left);
    a0 = firstOf(left, fused(loadFirst(q0 + c, left), v, a0), a0);
    a1 = firstOf(left, fused(loadFirst(q1 + c, left), v, a1), a1);
    a2 = firstOf(left, fused(loadFirst(q2 + c, left), v, a2), a2);
    a3 = firstOf(left, fused(loadFirst(q3 + c, left), v, a3), a3);
  }
  out[0] = fold(a0);
  out[1] = fold(a1);
  out[2] = fold(a2);
  out[3] = fold(a3);
}

/// The addresses of rows [first, first + n) of the chosen positions.
template <RowFormat R>
inline void findRows(const LatentAttentionArgs& a, int first, int n, const std::byte* (&rows)[kPositions]) {
  for (int i = 0; i < n; ++i) rows[i] = cachedRow<R>(a.rows, a.positions != nullptr ? a.positions[first + i] : first + i);
}

template <RowFormat R>
inline void attentionScores(const LatentAttentionArgs& a) {
  const std::byte* rows[kPositions];
  for (int first = 0; first < a.count; first += kPositions) {
    const int n = a.count - first < kPositions ? a.count - first : kPositions;
    findRows<R>(a, first, n, rows);
    for (int head = a.head_begin; head < a.head_end; head += kHeads) {
      const int heads = a.head_end - head < kHeads ? a.head_end - head : kHeads;
      const float* q = a.q + std::size_t(head) * std::size_t(a.rows.width);
      for (int i = 0; i < n; ++i) {
        float dots[kHeads];
        dotHeads<R>(q, heads, rows[i], a.rows.width, dots);
        for (int h = 0; h < heads; ++h) a.scores[std::size_t(head + h) * std::size_t(a.scores_stride) + std::size_t(first + i)] = a.scale * dots[h];
      }
    }
  }
}

/// As softmax, the ascending sums of four heads side by side: each is a chain of adds.
inline void softmaxHeads(float* scores, std::size_t stride, int heads, int n) {
  for (int h = 0; h < heads; ++h) {
    float* x = scores + std::size_t(h) * stride;
    expOfDifferences(x, n, largestOf(x, n));
  }
  const float* x0 = scores;
  const float* x1 = heads > 1 ? x0 + stride : x0;
  const float* x2 = heads > 2 ? x0 + 2 * stride : x0;
  const float* x3 = heads > 3 ? x0 + 3 * stride : x0;
  float s0 = 0.0f, s1 = 0.0f, s2 = 0.0f, s3 = 0.0f;
  for (int i = 0; i < n; ++i) {
    s0 += x0[i];
    s1 += x1[i];
    s2 += x2[i];
    s3 += x3[i];
  }
  const float sums[kHeads] = {s0, s1, s2, s3};
  for (int h = 0; h < heads; ++h) divideAll(scores + std::size_t(h) * stride, n, sums[h]);
}

/// Adds rows [0, n) weighted by four heads' scores into sixteen columns of their outputs.
template <RowFormat R>
inline void addWeightedRows(const std::byte* const* rows, int n, int col, int cols, const float* const (&weights)[kHeads], float* const (&out)[kHeads],
                            int heads) {
  F32x16 acc[kHeads];
  for (int h = 0; h < kHeads; ++h) acc[h] = h < heads ? (cols == 16 ? load(out[h] + col) : loadFirst(out[h] + col, cols)) : zero16();
  F32x16 a0 = acc[0], a1 = acc[1], a2 = acc[2], a3 = acc[3];
  for (int i = 0; i < n; ++i) {
    const F32x16 v = cols == 16 ? cached16<R>(rows[i], col) : firstCached<R>(rows[i], col, cols);
    a0 = fused(splat(weights[0][i]), v, a0);
    a1 = fused(splat(weights[1][i]), v, a1);
    a2 = fused(splat(weights[2][i]), v, a2);
    a3 = fused(splat(weights[3][i]), v, a3);
  }
  const F32x16 sums[kHeads] = {a0, a1, a2, a3};
  for (int h = 0; h < heads; ++h) {
    if (cols == 16) {
      store(out[h] + col, sums[h]);
    } else {
      storeFirst(out[h] + col, cols, sums[h]);
    }
  }
}

template <RowFormat R>
inline void attentionSums(const LatentAttentionArgs& a) {
  for (int head = a.head_begin; head < a.head_end; ++head) {
    float* out = a.out + std::size_t(head) * std::size_t(a.latent);
    for (int c = 0; c < a.latent; ++c) out[c] = 0.0f;
  }
  const std::byte* rows[kPositions];
  for (int first = 0; first < a.count; first += kPositions) {
    const int n = a.count - first < kPositions ? a.count - first : kPositions;
    findRows<R>(a, first, n, rows);
    for (int head = a.head_begin; head < a.head_end; head += kHeads) {
      const int heads = a.head_end - head < kHeads ? a.head_end - head : kHeads;
      const float* weights[kHeads];
      float* out[kHeads];
      for (int h = 0; h < kHeads; ++h) {
        const std::size_t at = std::size_t(head + (h < heads ? h : 0));
        weights[h] = a.scores + at * std::size_t(a.scores_stride) + first;
        out[h] = a.out + at * std::size_t(a.latent);
      }
      for (int col = 0; col < a.latent; col += 16) {
        addWeightedRows<R>(rows, n, col, a.latent - col < 16 ? a.latent - col : 16, weights, out, heads);
      }
    }
  }
}

template <RowFormat R>
inline void attend(const LatentAttentionArgs& a) {
  attentionScores<R>(a);
  for (int head = a.head_begin; head < a.head_end; head += kHeads) {
    const std::size_t stride = std::size_t(a.scores_stride);
    softmaxHeads(a.scores + std::size_t(head) * stride, stride, a.head_end - head < kHeads ? a.head_end - head : kHeads, a.count);
  }
  attentionSums<R>(a);
}

inline void latentAttention(const LatentAttentionArgs& a) noexcept {
  switch (a.rows.format) {
    case RowFormat::F32: attend<RowFormat::F32>(a); return;
    case RowFormat::Bf16: attend<RowFormat::Bf16>(a); return;
  }
}

template <RowFormat R>
inline void scoreIndex(const IndexScoresArgs& a) {
  for (int j = a.begin; j < a.end; ++j) {
    const std::byte* row = cachedRow<R>(a.rows, j);
    float sum = 0.0f;
    for (int head = 0; head < a.heads; head += kHeads) {
      const int heads = a.heads - head < kHeads ? a.heads - head : kHeads;
      float dots[kHeads];
      dotHeads<R>(a.q + std::size_t(head) * std::size_t(a.rows.width), heads, row, a.rows.width, dots);
      for (int h = 0; h < heads; ++h) sum = fusedOne(a.head_weights[head + h], dots[h] < 0.0f ? 0.0f : dots[h], sum);
    }
    a.out[j - a.begin] = sum;
  }
}

inline void indexScores(const IndexScoresArgs& a) noexcept {
  switch (a.rows.format) {
    case RowFormat::F32: scoreIndex<RowFormat::F32>(a); return;
    case RowFormat::Bf16: scoreIndex<RowFormat::Bf16>(a); return;
  }
}
