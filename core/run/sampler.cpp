#include "core/run/sampler.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include <fmt/format.h>

#include "core/base/check.h"
#include "core/base/exact_math.h"
#include "core/base/rng.h"

namespace sluice {
namespace {

bool isFinite(float v) { return (std::bit_cast<std::uint32_t>(v) & 0x7f800000u) != 0x7f800000u; }

}  // namespace

Sampler::Sampler(const SamplingOptions& options, int vocabulary) : options_(options) {
  CHECK(vocabulary > 0);
  if (options.greedy()) return;
  heap_.reserve(std::size_t(vocabulary));
  kept_.reserve(std::size_t(vocabulary));
}

bool Sampler::ranksBelow(const Candidate& a, const Candidate& b) {
  return a.weight != b.weight ? a.weight < b.weight : a.id > b.id;
}

Sampler::Candidate Sampler::popBest() {
  std::pop_heap(heap_.begin(), heap_.end(), ranksBelow);
  const Candidate best = heap_.back();
  heap_.pop_back();
  return best;
}

Result<TokenId> Sampler::sample(std::span<const float> logits, std::uint64_t position) {
  CHECK(!logits.empty());
  std::size_t best = 0;
  for (std::size_t id = 0; id < logits.size(); ++id) {
    if (!isFinite(logits[id]))
      return Error{Errc::Numeric, fmt::format("the logit of token {} at position {} is {}: no token can be chosen", id, position, logits[id])};
    if (logits[id] > logits[best]) best = id;
  }
  if (options_.greedy()) return TokenId(std::uint32_t(best));

  heap_.clear();
  const double temperature = options_.temperature;
  for (std::size_t id = 0; id < logits.size(); ++id) {
    const double gap = (double(logits[id]) - double(logits[best])) / temperature;
    // Below -88 the weight is beneath what a draw of 53 bits can tell from nothing; f32 exponentials stay normal.
    heap_.push_back({gap < -87.0 ? 0.0f : exactExp(float(gap)), std::uint32_t(id)});
  }
  return draw(position);
}

TokenId Sampler::draw(std::uint64_t position) {
  double total = 0;  // of what top_k leaves
  kept_.clear();
  const bool has_top_k = options_.top_k > 0 && std::size_t(options_.top_k) < heap_.size();
  if (!has_top_k) {
    for (const Candidate& c : heap_) total += double(c.weight);
  }
  std::make_heap(heap_.begin(), heap_.end(), ranksBelow);
  if (has_top_k) {
    for (int rank = 0; rank < options_.top_k; ++rank) {
      kept_.push_back(popBest());
      total += double(kept_.back().weight);
    }
    heap_.clear();
  }

  const double share = uniformAt(options_.seed, position);
  std::size_t next = 0;
  const auto rankedAt = [&](std::size_t rank) -> const Candidate* {
    if (rank == kept_.size() && !heap_.empty()) kept_.push_back(popBest());
    return rank < kept_.size() ? &kept_[rank] : nullptr;
  };

  // Without top_p and min_p the draw needs only as many ranks as it walks.
  double mass = total;
  std::size_t count = heap_.size() + kept_.size();
  if (options_.top_p < 1.0 || options_.min_p > 0.0) {
    mass = 0;
    count = 0;
    for (const Candidate* c = rankedAt(0); c != nullptr; c = rankedAt(count)) {
      if (count > 0 && (mass >= options_.top_p * total || double(c->weight) < options_.min_p)) break;
      mass += double(c->weight);
      ++count;
    }
  }
  double walked = 0;
  const double target = share * mass;
  for (; next + 1 < count; ++next) {
    walked += double(rankedAt(next)->weight);
    if (walked > target) break;
  }
  // The last one takes what rounding left over, unless it cannot be drawn at all.
  const Candidate* chosen = rankedAt(next);
  while (next > 0 && chosen->weight == 0.0f) chosen = &kept_[--next];
  return TokenId(chosen->id);
}

}  // namespace sluice
