#pragma once
// One answer in the making: a timeline of tokens that says what it wants computed and folds in what came. Its state is a fold over token ids: the
// channel, the stop strings and the counts are functions of the ids so far.

#include <atomic>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/ports/event_log.h"
#include "core/run/channel.h"
#include "core/run/sampler.h"
#include "core/run/stop_rules.h"
#include "core/run/timeline.h"
#include "core/text/detokenizer.h"

namespace sluice {

/// The most tokens of an answer, and who said so.
struct TokenLimit {
  int tokens = 512;  // -1: as many as the context holds
  std::string set_by = "the default";
};

struct GenerationSpec {
  std::vector<TokenId> prompt;
  SamplingOptions sampling;
  TokenLimit limit;
  std::vector<TokenId> stop_ids;        // sorted
  std::vector<std::string> stop_texts;  // passed checkStopTexts
  const std::atomic<bool>* cancel = nullptr;  // someone else's wish to stop (a signal's); outlives the generation
};

/// What a generation runs under.
struct GenerationPlace {
  const Tokenizer* tokenizer = nullptr;  // null: ids only, no text and no channels
  ChannelTags tags;
  int vocabulary = 0;
  int context = 0;  // tokens of prompt and answer together
};

/// Counted on accepted tokens, the one that ended the answer included.
struct Usage {
  int prompt_tokens = 0;
  int completion_tokens = 0;
  int reasoning_tokens = 0;  // of them, those of the reasoning channel; its closing tag counts
};

class Generation final : public Timeline {
 public:
  /// errors  BadRequest: an empty prompt; a prompt that leaves no room in the context; ids outside the vocabulary; a limit below -1 or of 0
  static Result<Done> check(const GenerationSpec& spec, const GenerationPlace& place);
  /// `spec` passed check(). `log` and the tokenizer outlive the generation.
  Generation(GenerationSpec spec, const GenerationPlace& place, EventLog& log);

  // Timeline.
  bool done() const override { return end_.has_value(); }
  bool cancelled() const override { return cancel_.load() || (cancel_elsewhere_ != nullptr && cancel_elsewhere_->load()); }
  RowPlan plan() const override;
  void advance(int rows, const ForwardOutput& output) override;
  void progress(double rows_done) override;
  void fail(const Error& error) override;

  /// Asks for an end at the next chance. Any thread.
  void cancel() { cancel_.store(true); }

  /// Accepts `id` as if it had been drawn: the fold, without a model.
  void take(TokenId id);

  /// Prompt and answer.
  std::span<const TokenId> ids() const { return ids_; }
  std::span<const TokenId> answer() const { return std::span(ids_).subspan(prompt_length_); }
  const Usage& usage() const { return usage_; }
  bool inPrompt() const { return computed_ < int(prompt_length_); }
  int strayCloses() const { return channel_.strayCloses(); }

  struct End {
    EndReason reason;
    std::string detail;
    std::optional<Error> error;  // EndReason::Error
  };
  const std::optional<End>& ended() const { return end_; }

 private:
  void say(Channel channel, const std::string& text);
  void flushText();
  void finish(EndReason reason, std::string detail, std::optional<Error> error = std::nullopt);
  void append(Event event);
  void checkLimits();

  GenerationPlace place_;
  EventLog& log_;
  TokenLimit limit_;
  std::vector<TokenId> stop_ids_;
  Sampler sampler_;
  ChannelMachine channel_;
  std::optional<Detokenizer> detokenizer_;
  StopTexts stop_texts_;
  std::vector<TokenId> ids_;
  std::size_t prompt_length_;
  int computed_ = 0;  // rows that the model has
  double progress_told_ = 0;
  Usage usage_;
  std::string piece_, shown_;  // scratch
  std::atomic<bool> cancel_{false};
  const std::atomic<bool>* cancel_elsewhere_;
  std::optional<End> end_;
};

/// "eos", "stop_sequence", ...: the engine's own closed list of names.
const char* nameOf(EndReason reason);

}  // namespace sluice
