#include "simd/dispatch.h"
#include "simd/kernel_tables.h"
#include "tests/simd/kernel_cases.h"

namespace sluice::avxvnni_emulated {
extern const Kernels kernels;
}
namespace sluice::avx512vnni_emulated {
extern const Kernels kernels;
}

namespace sluice::test {

std::vector<Table> everyTable() {
  // The emulated tables still use AVX2 for what is not of their own instruction set.
  const std::string no_avx2(whyUnusable(Isa::Avx2));
  return {{"scalar", &scalar::kernels, ""},
          {"avx2", &avx2::kernels, no_avx2},
          {"avxvnni", &avxvnni::kernels, std::string(whyUnusable(Isa::AvxVnni))},
          {"avx512vnni", &avx512vnni::kernels, std::string(whyUnusable(Isa::Avx512Vnni))},
          {"avxvnni_emulated", &avxvnni_emulated::kernels, no_avx2},
          {"avx512vnni_emulated", &avx512vnni_emulated::kernels, no_avx2}};
}

}  // namespace sluice::test
