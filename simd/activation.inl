// exp and what is made of it, in our own polynomial so that every machine agrees.

/// e^x within 2 ulp, subnormal results included; +-inf and NaN as IEEE has it.
/// x = n ln 2 + r, |r| <= ln 2 / 2; e^r by its series to r^7 (the rest is below 2^-27); 2^n in two exact or once-rounded steps.
inline F32x16 exp16(F32x16 x) {
  // Beyond these e^x is 0 or infinity anyway. NaN passes: larger and smaller give their second operand.
  x = smaller(splat(90.0f), larger(splat(-106.0f), x));
  constexpr float kMagic = 12582912.0f;  // 1.5 * 2^23
  const F32x16 shifted = fused(x, splat(1.44269504f), splat(kMagic));
  const I32x16 n = subInt(bitsOf(shifted), bitsOf(splat(kMagic)));
  const F32x16 steps = sub(shifted, splat(kMagic));
  // ln 2 = 0x1.62e4p-1 + 0x1.7f7d1cp-20: the first has 15 bits, so n times it is exact.
  F32x16 r = fused(steps, splat(-0x1.62e4p-1f), x);
  r = fused(steps, splat(-0x1.7f7d1cp-20f), r);
  F32x16 p = splat(1.0f / 5040.0f);
  p = fused(p, r, splat(1.0f / 720.0f));
  p = fused(p, r, splat(1.0f / 120.0f));
  p = fused(p, r, splat(1.0f / 24.0f));
  p = fused(p, r, splat(1.0f / 6.0f));
  p = fused(p, r, splat(0.5f));
  p = fused(mul(r, r), p, r);
  p = add(p, splat(1.0f));
  const I32x16 half = shiftRight<1>(n), rest = subInt(n, half);
  p = mul(p, floatOf(shiftLeft<23>(addInt(half, splatInt(127)))));
  return mul(p, floatOf(shiftLeft<23>(addInt(rest, splatInt(127)))));
}
inline F32x16 negated(F32x16 x) { return floatOf(addInt(bitsOf(x), splatInt(std::int32_t(-2147483647 - 1)))); }
inline F32x16 onePlusExpOfMinus(F32x16 x) { return add(splat(1.0f), exp16(negated(x))); }

inline void siluMul(const SiluMulArgs& a) noexcept {
  for (int i = 0; i < a.n; i += 16) {
    const int left = a.n - i;
    if (left >= 16) {
      const F32x16 g = load(a.gate + i);
      store(a.out + i, mul(divide(g, onePlusExpOfMinus(g)), load(a.up + i)));
    } else {
      const F32x16 g = loadFirst(a.gate + i, left);
      storeFirst(a.out + i, left, mul(divide(g, onePlusExpOfMinus(g)), loadFirst(a.up + i, left)));
    }
  }
}

inline void sigmoid(const SigmoidArgs& a) noexcept {
  for (int i = 0; i < a.n; i += 16) {
    const int left = a.n - i;
    if (left >= 16) {
      store(a.x + i, divide(splat(1.0f), onePlusExpOfMinus(load(a.x + i))));
    } else {
      storeFirst(a.x + i, left, divide(splat(1.0f), onePlusExpOfMinus(loadFirst(a.x + i, left))));
    }
  }
}

inline float largestOf(const float* x, int n) {
  F32x16 most = splat(-__builtin_inff());
  int i = 0;
  for (; i + 16 <= n; i += 16) most = larger(most, load(x + i));
  if (i < n) most = firstOf(n - i, larger(most, loadFirst(x + i, n - i)), most);
  return foldLarger(most);
}
/// x = exp(x - most)
inline void expOfDifferences(float* x, int n, float most) {
  const F32x16 top = splat(most);
  int i = 0;
  for (; i + 16 <= n; i += 16) store(x + i, exp16(sub(load(x + i), top)));
  if (i < n) storeFirst(x + i, n - i, exp16(sub(loadFirst(x + i, n - i), top)));
}
inline void divideAll(float* x, int n, float divisor) {
  const F32x16 d = splat(divisor);
  int i = 0;
  for (; i + 16 <= n; i += 16) store(x + i, divide(load(x + i), d));
  if (i < n) storeFirst(x + i, n - i, divide(loadFirst(x + i, n - i), d));
}

inline void softmax(const SoftmaxArgs& a) noexcept {
  expOfDifferences(a.x, a.n, largestOf(a.x, a.n));
  float sum = 0.0f;
  for (int i = 0; i < a.n; ++i) sum += a.x[i];
  divideAll(a.x, a.n, sum);
}
