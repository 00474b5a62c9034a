#pragma once
// Which kernel table runs: chosen once, by name, through a closed switch.

#include <array>
#include <optional>
#include <string_view>

#include "core/ports/kernels.h"

namespace sluice {

/// Every instruction set that has a name, slowest first.
inline constexpr std::array kIsas = {Isa::Scalar, Isa::Avx2, Isa::AvxVnni, Isa::Avx512Vnni, Isa::Amx};

/// "scalar", "avx2", "avxvnni", "avx512vnni", "amx".
std::string_view nameOf(Isa isa);

/// The instruction set of that name; nothing if there is none.
std::optional<Isa> isaByName(std::string_view name);

/// Why `isa` cannot run here, as a half sentence ("this CPU has no AVX2 with FMA and F16C"); empty if it can.
std::string_view whyUnusable(Isa isa);

/// True when this build has the table, and the CPU and the system can run it.
bool isaUsable(Isa isa);

/// The fastest usable one.
Isa bestIsa();

/// The table of `isa`, which must be usable (CHECKed).
const Kernels& kernelsFor(Isa isa);

}  // namespace sluice
