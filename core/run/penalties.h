#pragma once
// What is added to logits before a token is drawn: repetition, frequency and presence penalties, DRY, and a bias by token. A fold over the ids:
// pushing the same ids again gives the same penalties. Neutral values are exact no-ops.
//
// Windows (documented, because engines differ): the repetition penalty looks at prompt and output, once for each distinct token; frequency and
// presence look at the output alone; DRY looks at the last kDryWindow ids of prompt and output. All act at temperature 0 too.

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "core/base/ids.h"
#include "core/base/result.h"

namespace sluice {

struct PenaltyOptions {
  double repetition = 1.0;      // > 1: a positive logit is divided by it, a negative one multiplied
  double frequency = 0.0;       // times the count in the output
  double presence = 0.0;        // once if in the output
  double dry_multiplier = 0.0;  // 0: off. Penalty multiplier * base^(match - allowed_length) for a token that would prolong a repetition
  double dry_base = 1.75;
  int dry_allowed_length = 2;   // repetitions up to this long are free
  std::vector<TokenId> dry_breakers;  // ids that no match reaches across (line breaks, colons, quotes, asterisks)
  std::vector<std::pair<TokenId, double>> bias;  // added; -100 and below forbids
  bool neutral() const { return repetition == 1.0 && frequency == 0.0 && presence == 0.0 && dry_multiplier == 0.0 && bias.empty(); }
};

/// errors  BadRequest, naming the parameter, its value and what is allowed
Result<Done> checkPenalties(const PenaltyOptions& options, int vocabulary);

class Penalties {
 public:
  static constexpr int kDryWindow = 4096;
  static constexpr int kDryMatchMax = 50;  // longer matches are as bad as this one: base^48 is beyond any logit

  /// All memory is taken here: `context` ids at most will be pushed.
  Penalties(PenaltyOptions options, int vocabulary, int context);
  void pushPrompt(TokenId id) { push(id, false); }
  void pushOutput(TokenId id) { push(id, true); }
  /// Adjusts logits [vocabulary] in place: repetition, frequency and presence, then DRY, then the bias.
  void apply(std::span<float> logits);

 private:
  void push(TokenId id, bool output);
  bool isBreaker(TokenId id) const;

  PenaltyOptions options_;
  std::vector<std::int32_t> output_counts_;  // [vocabulary]
  std::vector<std::uint8_t> seen_;           // [vocabulary]
  std::vector<std::uint32_t> seen_ids_;      // distinct ids, in order of appearance
  // DRY: the last kDryWindow ids, and for each how long a match ends there with the match that ends at the newest.
  std::vector<std::uint32_t> recent_;
  std::vector<std::int16_t> match_;
  std::vector<std::int16_t> longest_;        // [vocabulary] scratch: the longest match that a token would prolong
};

}  // namespace sluice
