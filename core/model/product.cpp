#include "core/model/product.h"

#include <bit>
#include <cstdint>

#include "core/base/check.h"

namespace sluice {

void product(const Numerics& n, const Member& member, const WeightMatrix& w, const ProductInput& x, float* const* y) {
  const Slice part = member.slice(w.rows, kRowGrain);
  productPart(n, w, x, y, part.begin, part.end);
}

void productPart(const Numerics& n, const WeightMatrix& w, const ProductInput& x, float* const* y, int begin, int end) {
  if (begin >= end || x.rows == 0) return;
  if (n.usesCodes(w)) {
    DCHECK(x.codes != nullptr);
    n.kernels->int_product({&w, x.codes, y, x.rows, n.planes, begin, end});
  } else {
    n.kernels->float_product({&w, x.values, y, x.rows, begin, end});
  }
}

void quantise(const Numerics& n, const float* x, std::byte* codes, int cols, int begin, int end) {
  n.kernels->quantise({x, codes, cols, n.planes, begin, end});
}

bool allFinite(const float* x, int count) {
  std::uint32_t bad = 0;
  for (int i = 0; i < count; ++i) bad |= std::uint32_t((std::bit_cast<std::uint32_t>(x[i]) & 0x7f800000u) == 0x7f800000u);
  return bad == 0;
}

}  // namespace sluice
