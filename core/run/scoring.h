#pragma once
// A timeline whose ids are given: every row's logits are handed out, then perhaps some more ids are taken greedily. Stop ids mean nothing here.

#include <atomic>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "core/run/timeline.h"

namespace sluice {

/// The row at `position`: its logits (which say what comes at position + 1), and the row after the final norm where that was asked for. Valid
/// during the call.
using RowTaken = std::function<void(int position, std::span<const float> logits, std::span<const float> hidden)>;

class Scoring final : public Timeline {
 public:
  /// errors  BadRequest: no ids, ids outside the vocabulary, more ids (with the greedy ones) than the context holds
  static Result<Done> check(std::span<const TokenId> ids, int greedy, int vocabulary, int context);
  /// The arguments passed check(); `cancel`, a wish to stop, outlives the timeline. After the last given id, `greedy` more are chosen by argmax, ties to the lower id; their rows are handed out too,
  /// but for the last one's, which is never computed.
  Scoring(std::vector<TokenId> ids, int greedy, RowTaken taken, const std::atomic<bool>* cancel = nullptr);

  bool done() const override { return error_.has_value() || computed_ >= int(ids_.size()); }
  bool cancelled() const override { return cancel_ != nullptr && cancel_->load(); }
  RowPlan plan() const override;
  void advance(int rows, const ForwardOutput& output) override;
  void progress(double rows_done) override { rows_under_way_ = rows_done; }
  void fail(const Error& error) override { error_ = error; }

  std::span<const TokenId> ids() const { return ids_; }
  /// Rows are handed out with their hidden values too. Before the first step.
  void wantHidden() { hidden_ = true; }
  const std::optional<Error>& error() const { return error_; }
  double rowsDone() const { return double(computed_) + rows_under_way_; }

 private:
  std::vector<TokenId> ids_;
  std::size_t given_;
  int greedy_left_;
  RowTaken taken_;
  int computed_ = 0;
  double rows_under_way_ = 0;
  bool hidden_ = false;
  const std::atomic<bool>* cancel_;
  std::optional<Error> error_;
};

/// ln softmax(logits)[id], in double, the sum ascending.
double logProbability(std::span<const float> logits, TokenId id);
/// The largest, ties to the lower id.
TokenId argmaxOf(std::span<const float> logits);

}  // namespace sluice
