#include "simd/dispatch.h"

#include "core/base/check.h"
#include "simd/cpu_features.h"
#include "simd/kernel_tables.h"

namespace sluice {

std::string_view nameOf(Isa isa) {
  switch (isa) {
    case Isa::Scalar: return "scalar";
    case Isa::Avx2: return "avx2";
    case Isa::AvxVnni: return "avxvnni";
    case Isa::Avx512Vnni: return "avx512vnni";
    case Isa::Amx: return "amx";
  }
  UNREACHABLE();
}

std::optional<Isa> isaByName(std::string_view name) {
  for (const Isa isa : kIsas) {
    if (nameOf(isa) == name) return isa;
  }
  return std::nullopt;
}

std::string_view whyUnusable(Isa isa) {
  const CpuFeatures& cpu = cpuFeatures();
  switch (isa) {
    case Isa::Scalar: return {};
    case Isa::Avx2: return cpu.avx2 ? "" : "this CPU has no AVX2 with FMA and F16C";
    case Isa::AvxVnni: return cpu.avxvnni ? "" : "this CPU has no AVX-VNNI";
    case Isa::Avx512Vnni: return cpu.avx512vnni ? "" : "this CPU has no AVX-512 with VNNI";
    case Isa::Amx: return "the AMX table is not built yet";
  }
  UNREACHABLE();
}

bool isaUsable(Isa isa) { return whyUnusable(isa).empty(); }

Isa bestIsa() {
  Isa best = Isa::Scalar;
  for (const Isa isa : kIsas) {
    if (isaUsable(isa)) best = isa;
  }
  return best;
}

const Kernels& kernelsFor(Isa isa) {
  CHECK(isaUsable(isa));
  switch (isa) {
    case Isa::Scalar: return scalar::kernels;
    case Isa::Avx2: return avx2::kernels;
    case Isa::AvxVnni: return avxvnni::kernels;
    case Isa::Avx512Vnni: return avx512vnni::kernels;
    case Isa::Amx: break;  // never usable
  }
  UNREACHABLE();
}

}  // namespace sluice
