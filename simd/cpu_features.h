#pragma once
// What this CPU and its operating system offer, by CPUID and XCR0.

namespace sluice {

struct CpuFeatures {
  bool avx2 = false;        // AVX2, FMA and F16C, and the system saves 256-bit registers
  bool avxvnni = false;     // the same and AVX-VNNI (CPUID 7.1 EAX bit 4, which __builtin_cpu_supports does not know)
  bool avx512vnni = false;  // AVX-512 F, BW, DQ, VL and VNNI, and the system saves 512-bit registers and masks
  bool amx_int8 = false;    // AMX-TILE and AMX-INT8, and the system can save tiles
};

/// Asked once, then remembered. Any thread.
const CpuFeatures& cpuFeatures();

}  // namespace sluice
