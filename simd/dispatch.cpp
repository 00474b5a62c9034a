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
  switch (isa) {
    case Isa::Scalar: return {};
    case Isa::Avx2:
    case Isa::AvxVnni:
    case Isa::Avx512Vnni:
    case Isa::Amx: return "its table is not built yet";
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
    case Isa::Avx2:
    case Isa::AvxVnni:
    case Isa::Avx512Vnni:
    case Isa::Amx: break;  // never usable
  }
  UNREACHABLE();
}

}  // namespace sluice
