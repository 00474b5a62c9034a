#include "core/run/scoring.h"

#include <algorithm>

#include <fmt/format.h>

#include "core/base/exact_math.h"

namespace sluice {

Result<Done> Scoring::check(std::span<const TokenId> ids, int greedy, int vocabulary, int context) {
  if (ids.empty()) return Error{Errc::BadRequest, "there are no ids to compute; at least one is needed"};
  for (std::size_t i = 0; i < ids.size(); ++i) {
    if (ids[i].value() >= std::uint32_t(vocabulary))
      return Error{Errc::BadRequest,
                   fmt::format("id {} at index {} is outside the vocabulary of {} tokens (0 to {})", ids[i].value(), i, vocabulary, vocabulary - 1)};
  }
  if (ids.size() + std::size_t(std::max(0, greedy)) > std::size_t(context))
    return Error{Errc::BadRequest, fmt::format("{} ids and {} more do not fit a context of {}; give fewer, or a larger --context", ids.size(), greedy, context)};
  return Done{};
}

Scoring::Scoring(std::vector<TokenId> ids, int greedy, RowTaken taken, const std::atomic<bool>* cancel)
    : ids_(std::move(ids)), given_(ids_.size()), greedy_left_(greedy), taken_(std::move(taken)), cancel_(cancel) {
  ids_.reserve(given_ + std::size_t(greedy));
}

RowPlan Scoring::plan() const {
  CHECK(!done());
  return {std::span(ids_).subspan(std::size_t(computed_)), computed_, RowWants::Every, hidden_};
}

void Scoring::advance(int rows, const ForwardOutput& output) {
  CHECK(!done() && output.logits.rows == rows);
  rows_under_way_ = 0;
  for (int i = 0; i < rows; ++i) taken_(computed_ + i, output.logits.row(i), hidden_ ? std::span<const float>(output.hidden.row(i)) : std::span<const float>());
  computed_ += rows;
  if (greedy_left_ == 0 || std::size_t(computed_) < ids_.size()) return;
  ids_.push_back(argmaxOf(output.logits.row(rows - 1)));
  // The last chosen id is known without computing its row.
  if (--greedy_left_ == 0) ++computed_;
}

double logProbability(std::span<const float> logits, TokenId id) {
  const double top = double(*std::max_element(logits.begin(), logits.end()));
  double sum = 0;
  for (const float logit : logits) sum += exactExp(double(logit) - top);
  return double(logits[id.value()]) - top - exactLog(sum);
}

TokenId argmaxOf(std::span<const float> logits) {
  return TokenId(std::uint32_t(std::max_element(logits.begin(), logits.end()) - logits.begin()));
}

}  // namespace sluice
