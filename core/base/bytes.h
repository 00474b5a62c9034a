#pragma once
// A count of bytes, as a type.

#include <compare>
#include <cstdint>

namespace sluice {

class Bytes {
 public:
  constexpr Bytes() = default;
  constexpr explicit Bytes(std::uint64_t n) : n_(n) {}
  constexpr std::uint64_t count() const { return n_; }
  constexpr Bytes& operator+=(Bytes o) {
    n_ += o.n_;
    return *this;
  }
  friend constexpr Bytes operator+(Bytes a, Bytes b) { return Bytes(a.n_ + b.n_); }
  friend constexpr Bytes operator-(Bytes a, Bytes b) { return Bytes(a.n_ - b.n_); }
  friend constexpr Bytes operator*(Bytes a, std::uint64_t k) { return Bytes(a.n_ * k); }
  friend constexpr std::uint64_t operator/(Bytes a, Bytes b) { return a.n_ / b.n_; }  // how many b fit in a
  constexpr auto operator<=>(const Bytes&) const = default;

 private:
  std::uint64_t n_ = 0;
};

constexpr Bytes operator""_KiB(unsigned long long n) { return Bytes(n << 10); }
constexpr Bytes operator""_MiB(unsigned long long n) { return Bytes(n << 20); }
constexpr Bytes operator""_GiB(unsigned long long n) { return Bytes(n << 30); }

/// Smallest multiple of `align` (a power of two) that is >= n.
constexpr std::uint64_t roundUp(std::uint64_t n, std::uint64_t align) { return (n + align - 1) & ~(align - 1); }
/// Largest multiple of `align` (a power of two) that is <= n.
constexpr std::uint64_t roundDown(std::uint64_t n, std::uint64_t align) { return n & ~(align - 1); }

}  // namespace sluice
