#include "core/model/rope.h"

#include <cmath>

#include "core/base/check.h"

namespace sluice {

RopeTable::RopeTable(double theta, int width) {
  CHECK(theta > 0 && width >= 0 && width % 2 == 0);
  for (int i = 0; i < width / 2; ++i) frequencies_.push_back(float(std::pow(theta, -2.0 * i / width)));
}

void RopeTable::fill(int position, float* cosines, float* sines) const {
  for (std::size_t i = 0; i < frequencies_.size(); ++i) {
    const float angle = float(position) * frequencies_[i];
    cosines[i] = float(std::cos(double(angle)));
    sines[i] = float(std::sin(double(angle)));
  }
}

}  // namespace sluice
