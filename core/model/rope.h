#pragma once
// Rotary positions: pairs (2i, 2i+1), plain frequencies.

#include <cstddef>
#include <vector>

namespace sluice {

class RopeTable {
 public:
  /// Frequencies theta^(-2i/width), i < width/2, rounded to f32 as the reference keeps them.
  RopeTable(double theta, int width);
  int pairs() const { return int(frequencies_.size()); }
  /// cos and sin of float(position) * frequency, the product in f32 as the reference forms it: at a position of 100,000 its rounding moves
  /// the angle by 0.004, which is part of what the model was trained with.
  /// out     cosines, sines [pairs]
  /// threads const
  void fill(int position, float* cosines, float* sines) const;

 private:
  std::vector<float> frequencies_;
};

}  // namespace sluice
