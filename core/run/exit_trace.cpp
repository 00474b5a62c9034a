#include "core/run/exit_trace.h"

#include <algorithm>
#include <limits>

#include "core/base/check.h"
#include "core/base/exact_math.h"

namespace sluice {

const char* nameOf(ExitStory story) {
  switch (story) {
    case ExitStory::Ended: return "ended";
    case ExitStory::Never: return "never_likely";
    case ExitStory::Veered: return "approached_and_veered";
    case ExitStory::Resets: return "reset_after_each_approach";
  }
  UNREACHABLE();
}

ExitPoint exitPointOf(std::span<const float> logits, std::span<const TokenId> exits) {
  CHECK(!logits.empty());
  float best = logits[0];
  for (const float v : logits) best = std::max(best, v);
  // With p = exp(x - max) / sum: the entropy is log(sum) - sum((x - max) * exp(x - max)) / sum.
  double sum = 0, weighted = 0;
  for (const float v : logits) {
    const float gap = v - best;
    if (gap < -80.0f) continue;  // beneath notice: exp(-80) is 2e-35
    const float weight = exactExp(gap);
    sum += double(weight);
    weighted += double(gap) * double(weight);
  }
  ExitPoint point;
  point.entropy = float(std::max(0.0, exactLog(sum) - weighted / sum));
  point.rank = int(logits.size());
  if (exits.empty()) return point;
  float nearest = -std::numeric_limits<float>::infinity();
  double share = 0;
  for (const TokenId id : exits) {
    if (id.value() >= logits.size()) continue;
    nearest = std::max(nearest, logits[id.value()]);
    share += double(exactExp(std::max(-80.0f, logits[id.value()] - best)));
  }
  point.probability = float(share / sum);
  point.rank = int(std::count_if(logits.begin(), logits.end(), [&](float v) { return v > nearest; }));
  return point;
}

void ExitTrace::push(const ExitPoint& point) {
  entropies_[steps_++ % kEntropyWindow] = point.entropy;
  probability_max_ = std::max(probability_max_, point.probability);
  if (!near_ && point.probability >= kNear) {
    near_ = true;
    ++approaches_;
  } else if (near_ && point.probability < kFar) {
    near_ = false;
  }
  if (in_point_ == 0) {
    if (points_.size() == kPointsMax) {
      // Twice as long, half as fine: of each pair the likelier stays.
      for (std::size_t i = 0; i < kPointsMax / 2; ++i)
        points_[i] = points_[2 * i].probability >= points_[2 * i + 1].probability ? points_[2 * i] : points_[2 * i + 1];
      points_.resize(kPointsMax / 2);
      stride_ *= 2;
    }
    points_.push_back(point);
  } else if (point.probability > points_.back().probability) {
    points_.back() = point;
  }
  in_point_ = (in_point_ + 1) % stride_;
}

ExitStory ExitTrace::story(bool ended_by_itself) const {
  if (ended_by_itself) return ExitStory::Ended;
  if (approaches_ == 0) return ExitStory::Never;
  return approaches_ <= 2 ? ExitStory::Veered : ExitStory::Resets;
}

double ExitTrace::entropyMean() const {
  if (steps_ < kEntropyWindow) return std::numeric_limits<double>::infinity();
  double sum = 0;
  for (const float e : entropies_) sum += double(e);
  return sum / kEntropyWindow;
}

}  // namespace sluice
