#pragma once
// Norms of rows: the door that checks shapes before the kernels.

#include "core/model/numerics.h"
#include "core/model/weights.h"

namespace sluice {

/// out = RMS(x) * weight over weight.size() values; out may be x.
inline void rmsNorm(const Numerics& n, const float* x, VectorView weight, float eps, float* out) {
  n.kernels->rms_norm({x, weight.data(), out, int(weight.size()), eps});
}

/// out = (x - mean) / deviation * weight + bias; out may be x.
inline void layerNorm(const Numerics& n, const float* x, VectorView weight, VectorView bias, float eps, float* out) {
  DCHECK(weight.size() == bias.size());
  n.kernels->layer_norm({x, weight.data(), bias.data(), out, int(weight.size()), eps});
}

}  // namespace sluice
