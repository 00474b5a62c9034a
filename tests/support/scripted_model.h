#pragma once
// A model that follows a script and emits logits, so that sampling, stops, budgets and guards really run over it. MODEL gives tokenizer and
// template; no weights are read.
//
// A script is a JSON array; the first entry whose `match.prompt_contains` (absent: any) is in the prompt's text is followed:
//   ids | text    what the answer says, token for token
//   then          eos (default): the first stop id; repeat: from the beginning, for ever; spew: ever new tokens; stall: no token comes any more
//   boost         how far the wanted token's logit stands above the rest, which lie in [0, 1); default 20
//   exit_rank     the rank at which the nearest exit stands (the closing think tag in reasoning, else the first stop id); absent: among the rest
//   nan_at        the n-th token's logits hold a NaN
//   fail          {at: prefill | decode, step: n}: the forward fails (Io) in the prompt, or for the n-th token
//   step_ms, prefill_ms   how long a token, or the prompt, takes

#include <chrono>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cli/loaded_model.h"
#include "core/run/channel.h"
#include "core/text/tokenizer.h"

namespace sluice {

enum class ScriptEnd { Eos, Repeat, Stall, Spew };

struct ScriptEntry {
  std::string prompt_contains;
  std::vector<TokenId> ids;
  ScriptEnd then = ScriptEnd::Eos;
  double boost = 20;
  std::optional<int> exit_rank;
  std::optional<int> nan_at;
  bool fail_prefill = false;
  std::optional<int> fail_step;
  std::chrono::milliseconds step{0}, prefill{0};
};

/// errors  BadRequest: which entry, and what is wrong with it
Result<std::vector<ScriptEntry>> parseScript(const std::string& json, const Tokenizer& tokenizer);

struct ScriptedOptions {
  int vocabulary = 0, context = 8192, rows_max = 8192;
  int sequences_max = 1;
  std::vector<TokenId> stop_ids;
  ChannelTags tags;
};

/// `tokenizer` (for the prompt's text) outlives it.
class ScriptedForward final : public Forward {
 public:
  ScriptedForward(std::vector<ScriptEntry> script, const Tokenizer& tokenizer, const ScriptedOptions& options);
  const ForwardFacts& facts() const override { return facts_; }
  Result<SequenceId> open() override;
  void close(SequenceId sequence) override;
  void rollback(SequenceId sequence, int length) override;
  Result<ForwardOutput> forward(std::span<const ForwardRow> rows, ForwardWatch* watch) override;

 private:
  struct Sequence {
    bool open = false;
    std::vector<TokenId> ids;
    int prompt_length = -1;  // known once logits were asked for
    const ScriptEntry* entry = nullptr;
  };
  Result<Done> begin(Sequence& sequence, ForwardWatch* watch);
  Result<Done> step(const Sequence& sequence, int token_idx, ForwardWatch* watch);
  void write(const Sequence& sequence, int token_idx, std::span<float> logits) const;
  TokenId wanted(const ScriptEntry& entry, int token_idx) const;

  std::vector<ScriptEntry> script_;
  const Tokenizer& tokenizer_;
  ScriptedOptions options_;
  ForwardFacts facts_;
  std::vector<Sequence> sequences_;
  std::vector<float> logits_;
};

/// The loader of sluice-scripted.
ModelLoader scriptedModels(const std::filesystem::path& script);

}  // namespace sluice
