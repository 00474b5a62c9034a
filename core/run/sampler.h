#pragma once
// Logits to a token: temperature -> top_k -> top_p -> min_p -> draw. The same logits, options and position give the same token on every
// machine: exponentials are our own (core/base/exact_math), sums are in double and in one order.

#include <cstdint>
#include <span>
#include <vector>

#include "core/base/ids.h"
#include "core/base/result.h"
#include "core/run/sampling_options.h"

namespace sluice {

class Sampler {
 public:
  /// All memory is taken here; sample() allocates nothing.
  Sampler(const SamplingOptions& options, int vocabulary);

  /// The token at `position` (counted from the start of the sequence).
  /// in      logits [vocabulary] f32
  /// errors  Numeric: NaN or infinity among the logits, with the first such id
  /// order   candidates rank by falling probability, ties by rising id: top_k keeps exactly k of them; top_p keeps the fewest whose sum reaches
  ///         top_p of what top_k left; min_p drops those below min_p times the best; the draw walks what is left in rank order
  Result<TokenId> sample(std::span<const float> logits, std::uint64_t position);

 private:
  struct Candidate {
    float weight;  // exp((logit - max) / temperature): in [0, 1], the best has 1
    std::uint32_t id;
  };
  static bool ranksBelow(const Candidate& a, const Candidate& b);
  Candidate popBest();
  TokenId draw(std::uint64_t position);

  SamplingOptions options_;
  std::vector<Candidate> heap_;  // candidates not ranked yet, best in front
  std::vector<Candidate> kept_;  // ranked
};

}  // namespace sluice
