// What is done to one row of floats: adding, storing, choosing.

inline void addScaled(const AddScaledArgs& a) noexcept {
  const F32x16 weight = splat(a.weight);
  int i = 0;
  for (; i + 16 <= a.n; i += 16) store(a.acc + i, fused(weight, load(a.x + i), load(a.acc + i)));
  if (i < a.n) storeFirst(a.acc + i, a.n - i, fused(weight, loadFirst(a.x + i, a.n - i), loadFirst(a.acc + i, a.n - i)));
}

inline void storeRow(const StoreRowArgs& a) noexcept {
  switch (a.format) {
    case RowFormat::F32: __builtin_memcpy(a.out, a.x, std::size_t(a.n) * 4); return;
    case RowFormat::Bf16: {
      int i = 0;
      for (; i + 16 <= a.n; i += 16) storeBf16(a.out + 2 * std::size_t(i), load(a.x + i));
      if (i < a.n) {
        std::byte copy[32];
        storeBf16(copy, loadFirst(a.x + i, a.n - i));
        __builtin_memcpy(a.out + 2 * std::size_t(i), copy, 2 * std::size_t(a.n - i));
      }
      return;
    }
  }
}

inline int argmax(const ArgmaxArgs& a) noexcept {
  const I32x16 magnitude = splatInt(0x7fffffff);
  F32x16 most = splat(-__builtin_inff());
  I32x16 bits = splatInt(0);
  int i = 0;
  for (; i + 16 <= a.n; i += 16) {
    const F32x16 v = load(a.x + i);
    most = larger(most, v);
    bits = largerInt(bits, andInt(bitsOf(v), magnitude));
  }
  if (i < a.n) {
    const F32x16 v = loadFirst(a.x + i, a.n - i);
    most = firstOf(a.n - i, larger(most, v), most);
    bits = largerInt(bits, andInt(bitsOf(v), magnitude));
  }
  if (a.n <= 0 || foldLargerInt(bits) >= 0x7f800000) return -1;
  const float largest = foldLarger(most);
  for (int at = 0; at < a.n; ++at) {
    if (a.x[at] == largest) return at;
  }
  return -1;
}
