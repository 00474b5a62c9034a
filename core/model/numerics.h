#pragma once
// How products are made: the table of kernels and the two paths of docs/ARCHITECTURE.md, "Numerics".

#include "core/base/check.h"
#include "core/ports/kernels.h"

namespace sluice {

struct Numerics {
  const Kernels* kernels = nullptr;
  bool exact = false;  // f32 activations and dequantised weights everywhere
  int planes = 2;      // int8 planes of an activation: 1 (8 bits) or 2 (16 bits)

  /// True when a product with `w` wants quantised activations.
  bool usesCodes(const WeightMatrix& w) const { return !exact && isInteger(w.format); }

  /// The same kernels from f32 activations. For what decides by order (router, indexer): there a rounding does not shade a result, it picks another
  /// expert or position. Measured on the random-weight oracles with int8 to int2 weights: indexers fed with 16-bit activations changed a greedy
  /// choice of margin 0.31, fed with f32 ones none above 0.23.
  Numerics inFloat() const { return {kernels, true, planes}; }
};

}  // namespace sluice
