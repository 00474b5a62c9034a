#include "core/run/penalties.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include <fmt/format.h>

#include "core/base/check.h"

namespace sluice {
namespace {

constexpr double kForbidden = -100.0;

Error outside(const char* name, double value, const char* allowed) {
  return Error{Errc::BadRequest, fmt::format("{} is {}; it must be {}", name, value, allowed)};
}

}  // namespace

Result<Done> checkPenalties(const PenaltyOptions& o, int vocabulary) {
  if (!(o.repetition > 0.0 && o.repetition <= 10.0)) return outside("repetition_penalty", o.repetition, "above 0 and at most 10 (1 is off)");
  if (!(o.frequency >= -2.0 && o.frequency <= 2.0)) return outside("frequency_penalty", o.frequency, "from -2 to 2 (0 is off)");
  if (!(o.presence >= -2.0 && o.presence <= 2.0)) return outside("presence_penalty", o.presence, "from -2 to 2 (0 is off)");
  if (!(o.dry_multiplier >= 0.0 && o.dry_multiplier <= 100.0)) return outside("dry_multiplier", o.dry_multiplier, "from 0 (off) to 100");
  if (!(o.dry_base >= 1.0 && o.dry_base <= 8.0)) return outside("dry_base", o.dry_base, "from 1 to 8");
  if (o.dry_allowed_length < 1 || o.dry_allowed_length > Penalties::kDryMatchMax)
    return outside("dry_allowed_length", o.dry_allowed_length, "from 1 to 50");
  for (const auto& [id, value] : o.bias) {
    if (int(id.value()) >= vocabulary)
      return Error{Errc::BadRequest, fmt::format("logit_bias names token {}; the vocabulary ends at {}", id.value(), vocabulary - 1)};
    if (!(value >= -1000.0 && value <= 1000.0)) return outside("logit_bias", value, "from -1000 to 1000 (-100 and below forbids the token)");
  }
  return Done{};
}

Penalties::Penalties(PenaltyOptions options, int vocabulary, int context) : options_(std::move(options)) {
  CHECK(vocabulary > 0 && context >= 0);
  std::sort(options_.dry_breakers.begin(), options_.dry_breakers.end());
  if (options_.neutral()) return;
  output_counts_.assign(std::size_t(vocabulary), 0);
  seen_.assign(std::size_t(vocabulary), 0);
  seen_ids_.reserve(std::size_t(std::min(vocabulary, context)));
  if (options_.dry_multiplier > 0.0) {
    recent_.reserve(kDryWindow);
    match_.reserve(kDryWindow);
    longest_.assign(std::size_t(vocabulary), 0);
  }
}

bool Penalties::isBreaker(TokenId id) const { return std::binary_search(options_.dry_breakers.begin(), options_.dry_breakers.end(), id); }

void Penalties::push(TokenId id, bool output) {
  if (options_.neutral()) return;
  CHECK(id.value() < seen_.size());
  if (output) ++output_counts_[id.value()];
  if (seen_[id.value()] == 0) {
    seen_[id.value()] = 1;
    if (seen_ids_.size() < seen_ids_.capacity()) seen_ids_.push_back(id.value());
  }
  if (options_.dry_multiplier == 0.0) return;
  if (recent_.size() == std::size_t(kDryWindow)) {
    // The window slides in steps of a half, so that sliding is rare.
    const std::size_t half = kDryWindow / 2;
    recent_.erase(recent_.begin(), recent_.begin() + std::ptrdiff_t(half));
    match_.erase(match_.begin(), match_.begin() + std::ptrdiff_t(half));
  }
  // A match that ended at i - 1 goes on at i where the same id stands; from the back, so that the old value is still there.
  const bool breaker = isBreaker(id);
  for (std::size_t i = recent_.size(); i-- > 0;) {
    const int before = i > 0 ? match_[i - 1] : 0;
    match_[i] = (!breaker && recent_[i] == id.value()) ? std::int16_t(std::min(before + 1, kDryMatchMax)) : std::int16_t(0);
  }
  recent_.push_back(id.value());
  match_.push_back(0);
}

void Penalties::apply(std::span<float> logits) {
  if (options_.neutral()) return;
  CHECK(logits.size() == seen_.size());
  for (const std::uint32_t id : seen_ids_) {
    float& logit = logits[id];
    if (options_.repetition != 1.0) logit = float(logit > 0 ? double(logit) / options_.repetition : double(logit) * options_.repetition);
    if (output_counts_[id] > 0) logit = float(double(logit) - options_.frequency * output_counts_[id] - options_.presence);
  }
  if (options_.dry_multiplier > 0.0 && !recent_.empty()) {
    for (std::size_t i = 0; i + 1 < recent_.size(); ++i) {
      if (match_[i] < options_.dry_allowed_length) continue;
      std::int16_t& longest = longest_[recent_[i + 1]];
      longest = std::max(longest, match_[i]);
    }
    for (std::size_t i = 0; i + 1 < recent_.size(); ++i) {
      std::int16_t& longest = longest_[recent_[i + 1]];
      if (longest == 0) continue;
      double penalty = options_.dry_multiplier;
      for (int n = options_.dry_allowed_length; n < longest; ++n) penalty *= options_.dry_base;  // by multiplication: pow is libm's
      if (!isBreaker(TokenId(recent_[i + 1]))) logits[recent_[i + 1]] = float(double(logits[recent_[i + 1]]) - penalty);
      longest = 0;
    }
  }
  for (const auto& [id, value] : options_.bias) {
    float& logit = logits[id.value()];
    logit = value <= kForbidden ? -1e30f : float(double(logit) + value);
  }
}

}  // namespace sluice
