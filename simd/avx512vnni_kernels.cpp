// The table for AVX-512 F, BW, DQ, VL and VNNI.

#include <immintrin.h>

#include <cstddef>
#include <cstdint>

#include "core/ports/kernels.h"
#include "simd/unroll.h"

#ifndef SLUICE_ISA
#define SLUICE_ISA avx512vnni
#define SLUICE_ISA_NAME "avx512vnni"
#endif

namespace sluice::SLUICE_ISA {
namespace {

#include "simd/avx512_vocabulary.inl"

#include "simd/codes.inl"

#include "simd/avx512vnni_dots.inl"

#include "simd/bodies.inl"

}  // namespace

extern const Kernels kernels;
constinit const Kernels kernels = tableOf(SLUICE_ISA_NAME);

}  // namespace sluice::SLUICE_ISA
