#pragma once
// Elementary functions in our own arithmetic: a fixed order of IEEE operations, no libm, no contraction, so that rope tables and draws agree on every
// machine and with every C library.

namespace sluice {

struct SinCos {
  double sine, cosine;
};

/// |angle| up to 1e8 radians; error below 1e-15 up to 1e6.
SinCos exactSinCos(double angle);
/// Error below 1e-15 relative; overflows to infinity, underflows through subnormals to 0.
double exactExp(double x);
/// In f32 arithmetic, within 2 ulp; for draws over large vocabularies.
float exactExp(float x);
/// Natural logarithm of x > 0, error below 1e-15 (relative, absolute near 1). 0 gives -infinity, negative values NaN.
double exactLog(double x);
/// base^exponent for base > 0: exp(exponent * log(base)); error below 1e-15 times (1 + |exponent * log(base)|).
double exactPow(double base, double exponent);

}  // namespace sluice
