// Where the code of a column lies inside its block of kBlock columns: the order in which the nibbles of a row meet them.

/// 1 plane: even columns, then odd ones (low nibbles, then high ones). 2 planes, 16-bit codes: columns 4k, then 4k+1, 4k+2, 4k+3.
template <int Planes, int Block = 64>
constexpr int codeAt(int col) {
  if constexpr (Planes == 1) return (col & 1) * (Block / 2) + col / 2;
  return (col & 3) * (Block / 4) + col / 4;
}

/// Where the parts of one quantised row lie: codes, then a scale a group of 64, then sums of codes by group of 64 and by run of 16 columns.
struct ActivationParts {
  std::size_t scales, group_sums, run_sums, bytes;
};
inline std::size_t upTo64(std::size_t n) { return (n + 63) / 64 * 64; }
template <int BlockCols>
inline ActivationParts partsOf(int cols, int planes) {
  const std::size_t blocks = (std::size_t(cols) + BlockCols - 1) / BlockCols, groups = blocks * (BlockCols / 64);
  ActivationParts p;
  p.scales = upTo64(blocks * BlockCols * std::size_t(planes));
  p.group_sums = p.scales + upTo64(groups * 4);
  p.run_sums = p.group_sums + upTo64(groups * 4);
  p.bytes = p.run_sums + upTo64(groups * 16);
  return p;
}
