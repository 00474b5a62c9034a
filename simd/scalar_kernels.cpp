// The scalar table: plain C++ for x86-64-v2, the specification of all others.

#include <cstddef>
#include <cstdint>

#include "core/base/half.h"
#include "core/ports/kernels.h"

#define SLUICE_UNROLL  // nothing to gain, much to compile

namespace sluice::scalar {
namespace {

#include "simd/scalar_vocabulary.inl"

#include "simd/codes.inl"

#include "simd/scalar_dots.inl"

#include "simd/bodies.inl"

}  // namespace

extern const Kernels kernels;
constinit const Kernels kernels = tableOf("scalar");

}  // namespace sluice::scalar
