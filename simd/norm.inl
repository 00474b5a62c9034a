// Norms and the rotation of position.

inline F32x16 dotLanes(const float* a, const float* b, int n) {
  F32x16 acc = zero16();
  int i = 0;
  for (; i + 16 <= n; i += 16) acc = fused(load(a + i), load(b + i), acc);
  if (i < n) acc = firstOf(n - i, fused(loadFirst(a + i, n - i), loadFirst(b + i, n - i), acc), acc);
  return acc;
}

inline void rmsNorm(const RmsNormArgs& a) noexcept {
  const float inverse = 1.0f / squareRoot(fold(dotLanes(a.x, a.x, a.n)) / float(a.n) + a.eps);
  const F32x16 factor = splat(inverse);
  int i = 0;
  for (; i + 16 <= a.n; i += 16) store(a.out + i, mul(mul(load(a.x + i), factor), load(a.weight + i)));
  if (i < a.n) storeFirst(a.out + i, a.n - i, mul(mul(loadFirst(a.x + i, a.n - i), factor), loadFirst(a.weight + i, a.n - i)));
}

inline void layerNorm(const LayerNormArgs& a) noexcept {
  F32x16 sum = zero16();
  int i = 0;
  for (; i + 16 <= a.n; i += 16) sum = add(sum, load(a.x + i));
  if (i < a.n) sum = firstOf(a.n - i, add(sum, loadFirst(a.x + i, a.n - i)), sum);
  const F32x16 mean = splat(fold(sum) / float(a.n));
  F32x16 squares = zero16();
  for (i = 0; i + 16 <= a.n; i += 16) {
    const F32x16 d = sub(load(a.x + i), mean);
    squares = fused(d, d, squares);
  }
  if (i < a.n) {
    const F32x16 d = sub(loadFirst(a.x + i, a.n - i), mean);
    squares = firstOf(a.n - i, fused(d, d, squares), squares);
  }
  const F32x16 factor = splat(1.0f / squareRoot(fold(squares) / float(a.n) + a.eps));
  for (i = 0; i + 16 <= a.n; i += 16) {
    store(a.out + i, fused(mul(sub(load(a.x + i), mean), factor), load(a.weight + i), load(a.bias + i)));
  }
  if (i < a.n) {
    const int left = a.n - i;
    storeFirst(a.out + i, left,
               fused(mul(sub(loadFirst(a.x + i, left), mean), factor), loadFirst(a.weight + i, left), loadFirst(a.bias + i, left)));
  }
}

inline void ropePairs(const RopePairsArgs& a) noexcept {
  for (int head = 0; head < a.heads; ++head) {
    float* x = a.x + std::ptrdiff_t(head) * a.stride;
    for (int i = 0; i < a.pairs; ++i) {
      const float even = x[2 * i], odd = x[2 * i + 1], cosine = a.cosines[i], sine = a.sines[i];
      x[2 * i] = fusedOne(even, cosine, -(odd * sine));
      x[2 * i + 1] = fusedOne(even, sine, odd * cosine);
    }
  }
}
