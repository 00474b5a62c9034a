#pragma once
// The tables, one an ISA. Only simd/dispatch.cpp and tests choose among them; call none on a CPU that lacks it.

#include "core/ports/kernels.h"

namespace sluice::scalar {
extern const Kernels kernels;
}
namespace sluice::avx2 {
extern const Kernels kernels;
}
namespace sluice::avxvnni {
extern const Kernels kernels;
}
namespace sluice::avx512vnni {
extern const Kernels kernels;
}
