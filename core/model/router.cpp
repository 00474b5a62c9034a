#include "core/model/router.h"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <limits>

#include "core/base/check.h"
#include "core/model/product.h"

namespace sluice {

namespace {

// Orders every bit pattern, NaN included, so that broken weights still choose distinct experts.
std::uint32_t orderOf(float score) {
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(score + 0.0f);
  return (bits & 0x80000000u) != 0 ? ~bits : bits | 0x80000000u;
}

}  // namespace

float chooseExperts(const RouterConfig& config, std::span<const float> scores, VectorView bias, std::span<ExpertId> ids, std::span<float> weights) {
  const int experts = config.experts, k = config.top_k;
  DCHECK(int(scores.size()) == experts && int(bias.size()) == experts && int(ids.size()) == k && int(weights.size()) == k);
  const auto biased = [&](ExpertId e) { return scores[e.value()] + bias[e.value()]; };
  // The chosen so far by falling biased score; a later id must be strictly better to pass an earlier one.
  int kept = 0;
  float refused = -std::numeric_limits<float>::infinity();
  for (std::uint32_t e = 0; e < std::uint32_t(experts); ++e) {
    const std::uint32_t order = orderOf(biased(ExpertId(e)));
    int at = kept;
    while (at > 0 && orderOf(biased(ids[std::size_t(at - 1)])) < order) --at;
    if (kept == k) {
      const float loser = at == k ? biased(ExpertId(e)) : biased(ids[std::size_t(k - 1)]);
      refused = std::max(refused, loser);
      if (at == k) continue;
    } else {
      ++kept;
    }
    for (int j = kept - 1; j > at; --j) ids[std::size_t(j)] = ids[std::size_t(j - 1)];
    ids[std::size_t(at)] = ExpertId(e);
  }
  const float margin = experts > k ? biased(ids[std::size_t(k - 1)]) - refused : std::numeric_limits<float>::infinity();
  std::sort(ids.begin(), ids.end());
  float sum = 0.0f;
  for (std::size_t j = 0; j < ids.size(); ++j) sum += scores[ids[j].value()];
  for (std::size_t j = 0; j < ids.size(); ++j) {
    const float score = scores[ids[j].value()];
    weights[j] = (config.normalise ? score / (sum + 1e-20f) : score) * config.scale;
  }
  return margin;
}

void routeRows(const LayerContext& ctx, const Member& member, const LayerWeights& w, int rows) {
  const Activations& s = *ctx.scratch;
  const RouterConfig& c = ctx.config->router;
  const std::size_t k = std::size_t(c.top_k);
  product(ctx.numerics.inFloat(), member, w.router, s.ffn_in.input(0, rows), s.router_scores.rows);
  member.barrier();
  const Slice part = member.slice(rows);
  for (int r = part.begin; r < part.end; ++r) {
    float* const scores = s.router_scores[r];
    ctx.numerics.kernels->sigmoid({scores, c.experts});
    const std::size_t at = std::size_t(r) * k;
    s.routed_margins[r] = chooseExperts(c, {scores, std::size_t(c.experts)}, w.router_bias, {s.routed_ids + at, k}, {s.routed_weights + at, k});
  }
}

}  // namespace sluice
