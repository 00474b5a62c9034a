#include "core/model/rope.h"

#include "core/base/check.h"
#include "core/base/exact_math.h"

namespace sluice {

RopeTable::RopeTable(double theta, int width) {
  CHECK(theta > 0 && width >= 0 && width % 2 == 0);
  for (int i = 0; i < width / 2; ++i) frequencies_.push_back(float(exactPow(theta, -2.0 * i / width)));
}

void RopeTable::fill(int position, float* cosines, float* sines) const {
  for (std::size_t i = 0; i < frequencies_.size(); ++i) {
    const float angle = float(position) * frequencies_[i];
    const SinCos turn = exactSinCos(double(angle));
    cosines[i] = float(turn.cosine);
    sines[i] = float(turn.sine);
  }
}

}  // namespace sluice
