#pragma once
// Where an answer could have ended and did not: at each step the probability and rank of the nearest exit (the close tag inside a thought, the
// stop ids in an answer), kept as a series of bounded length. Recorded always; one pass over the logits, nothing allocated.

#include <cstdint>
#include <span>
#include <vector>

#include "core/base/ids.h"
#include "core/ports/event_log.h"

namespace sluice {

/// What one row of logits says about ending, before any penalty or temperature.
struct ExitPoint {
  int position = 0;       // of the token that these logits choose, counted in the answer
  Channel channel = Channel::Content;
  float probability = 0;  // of all exits together
  int rank = 0;           // of the likeliest exit: how many tokens are likelier
  float entropy = 0;      // of the whole distribution, in nats
};

/// `exits` may be empty: probability 0, rank the vocabulary's size. Logits are finite.
ExitPoint exitPointOf(std::span<const float> logits, std::span<const TokenId> exits);

/// Which of the ways of not ending it was.
enum class ExitStory : std::uint8_t {
  Ended,      // the model ended by itself
  Never,      // no exit ever became likely
  Veered,     // approached an exit once or twice and turned away
  Resets,     // approached again and again, and began anew each time
};
const char* nameOf(ExitStory story);

/// A fold over the points. A value.
class ExitTrace {
 public:
  static constexpr std::size_t kPointsMax = 512;
  static constexpr float kNear = 0.10f;  // an exit this likely was approached
  static constexpr float kFar = 0.02f;   // ... and left again below this

  ExitTrace() { points_.reserve(kPointsMax); }
  void push(const ExitPoint& point);
  /// The series: each point is the likeliest of `stride()` steps.
  std::span<const ExitPoint> points() const { return points_; }
  int stride() const { return stride_; }
  int approaches() const { return approaches_; }
  float probabilityMax() const { return probability_max_; }
  ExitStory story(bool ended_by_itself) const;
  /// Mean entropy of the last kEntropyWindow steps; infinity before there are as many.
  static constexpr int kEntropyWindow = 128;
  double entropyMean() const;

 private:
  std::vector<ExitPoint> points_;
  int stride_ = 1, in_point_ = 0;
  int approaches_ = 0;
  bool near_ = false;
  float probability_max_ = 0;
  float entropies_[kEntropyWindow] = {};
  int steps_ = 0;
};

}  // namespace sluice
