#pragma once
// sin, cos, exp, log and pow of doubles in our own arithmetic: plain IEEE operations in a fixed order, so that rope tables and samplers give the same
// numbers whatever the C library. Relative errors stay below 1e-15 (sine and cosine: unless the angle is within 1e-10 of a zero by chance).
// Any thread.

namespace sluice {

struct SinCos {
  double sine, cosine;
};

/// in  radians, |angle| <= 2^28 (CHECKed); NaN gives NaN
SinCos exactSinCos(double angle);

/// e^x; 0 and infinity beyond the range, subnormal results included. NaN gives NaN.
double exactExp(double x);

/// The same in f32 arithmetic, within 2 ulp; for draws over large vocabularies.
float exactExp(float x);

/// ln x; -infinity at 0, NaN below 0 and for NaN.
double exactLog(double x);

/// base^exponent for base >= 0, its logarithm in twice the precision. Anything^0 = 1, also NaN^0; NaN for negative bases.
double exactPow(double base, double exponent);

}  // namespace sluice
