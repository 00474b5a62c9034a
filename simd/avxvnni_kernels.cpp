// The table for AVX2, FMA, F16C and AVX-VNNI.

#include <immintrin.h>

#include <cstddef>
#include <cstdint>

#include <xsimd/xsimd.hpp>

#include "core/ports/kernels.h"
#include "simd/unroll.h"

#ifndef SLUICE_ISA
#define SLUICE_ISA avxvnni
#define SLUICE_ISA_NAME "avxvnni"
#endif

namespace sluice::SLUICE_ISA {
namespace {
// Our own name for xsimd's AVX2 with FMA: a type of this unit alone, so that whatever xsimd instantiates for it is local too.
struct Arch : xsimd::fma3<xsimd::avx2> {};
}  // namespace
}  // namespace sluice::SLUICE_ISA

namespace xsimd::types {
XSIMD_DECLARE_SIMD_REGISTER_ALIAS(sluice::SLUICE_ISA::Arch, avx2);
}  // namespace xsimd::types

namespace sluice::SLUICE_ISA {
namespace {

#include "simd/avx2_vocabulary.inl"

#include "simd/codes.inl"

#include "simd/avx2_blocks.inl"

#include "simd/avxvnni_dots.inl"

#include "simd/bodies.inl"

}  // namespace

extern const Kernels kernels;
constinit const Kernels kernels = tableOf(SLUICE_ISA_NAME);

}  // namespace sluice::SLUICE_ISA
