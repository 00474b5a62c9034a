#pragma once
// SLUICE_UNROLL before a loop of a kernel body: its trip count is a constant and its arrays are meant to be registers.

#ifdef __clang__
#define SLUICE_UNROLL _Pragma("unroll")
#else
#define SLUICE_UNROLL _Pragma("GCC unroll 16")
#endif
