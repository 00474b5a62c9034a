// Every kernel, over the vocabulary that the including unit has brought. Included inside an anonymous namespace of an ISA.

#include "simd/quantise.inl"

#include "simd/int_product.inl"

#include "simd/dequantise.inl"

#include "simd/float_product.inl"

#include "simd/norm.inl"

#include "simd/activation.inl"

#include "simd/attention.inl"

#include "simd/rows.inl"

constexpr Kernels tableOf(const char* isa) {
  return {isa,     activationBytes, quantise, intProduct, floatProduct, transposedProduct, dequantiseRow, rmsNorm,         layerNorm,
          ropePairs, siluMul,       sigmoid,  softmax,    addScaled,    storeRow,          latentAttention, indexScores, argmax};
}
