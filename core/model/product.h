#pragma once
// Rows of activations times a weight matrix, by the path that its format and the options choose. Each function here is one member's part
// of a parallel region; barriers are the caller's.

#include <cstddef>

#include "core/base/parallel.h"
#include "core/model/numerics.h"

namespace sluice {

/// Rows as products read them: `values[r]` f32, and `codes[r]` quantised where some consumer has integer weights.
struct ProductInput {
  const float* const* values = nullptr;
  const std::byte* const* codes = nullptr;
  int rows = 0;
};

/// y[r][o] = w[o] . x[r] for all rows and this member's part of w's rows.
void product(const Numerics& n, const Member& member, const WeightMatrix& w, const ProductInput& x, float* const* y);

/// The same for output rows [begin, end) of w, all by the caller.
void productPart(const Numerics& n, const WeightMatrix& w, const ProductInput& x, float* const* y, int begin, int end);

/// Quantises columns [begin, end) of a row of `cols`: multiples of 64, or cols.
void quantise(const Numerics& n, const float* x, std::byte* codes, int cols, int begin, int end);
inline void quantise(const Numerics& n, const float* x, std::byte* codes, int cols) { quantise(n, x, codes, cols, 0, cols); }

/// acc += x.
inline void addTo(const Numerics& n, float* acc, const float* x, int count) { n.kernels->add_scaled({acc, x, 1.0f, count}); }

/// True when no value is NaN or infinite.
bool allFinite(const float* x, int count);

/// Calls body(row, col_begin, col_end) for this member's part of a [rows, cols] rectangle, cut at multiples of `block` columns, so that
/// all members have work even at one row. `block` is a multiple of 64.
template <class Body>
void eachPiece(const Member& member, int rows, int cols, int block, Body&& body) {
  const int blocks = (cols + block - 1) / block;
  const Slice part = member.slice(rows * blocks);
  for (int at = part.begin; at < part.end;) {
    const int row = at / blocks, first = at % blocks;
    const int last = std::min(blocks, first + (part.end - at));
    body(row, first * block, std::min(cols, last * block));
    at += last - first;
  }
}

}  // namespace sluice
