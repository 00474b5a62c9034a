#pragma once
// The kernels once more, as naively as the contract of core/ports/kernels.h can be spelled: one element after the other, std::fma, no lanes shared
// with simd/. The scalar table is compared with these, all others with the scalar table.

#include <cstdint>
#include <vector>

#include "core/ports/kernels.h"

namespace sluice::plain {

/// The code of a weight without its scale, or its value for float formats.
float codeOf(const WeightMatrix& w, int row, int col);
/// float(code) * scale, or the value.
float valueOf(const WeightMatrix& w, int row, int col);
/// The scale of a weight; 1 for float formats without scales.
float scaleOf(const WeightMatrix& w, int row, int col);

/// One quantised activation row in natural order.
struct Quantised {
  std::vector<int> codes;
  std::vector<float> scales;  // a group of 64
};
Quantised quantise(const std::vector<float>& x, int planes);
float intProduct(const WeightMatrix& w, int row, const Quantised& x);
float dot16(const std::vector<float>& a, const std::vector<float>& b);
std::vector<float> rowOf(const WeightMatrix& w, int row);
std::vector<float> transposedProduct(const WeightMatrix& w, int row_begin, int row_end, const std::vector<float>& x);


/// The polynomial of simd/activation.inl and the fma of simd/scalar_vocabulary.inl by themselves. Their precision has its own test.
float exponential(float x);
float fusedOne(float a, float b, float c);

/// exp(x - max) / sum, one element after the other.
std::vector<float> softmax(std::vector<float> x);

}  // namespace sluice::plain
