#include "tests/support/scripted_model.h"

#include <limits>
#include <thread>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/base/file.h"
#include "core/base/rng.h"
#include "core/run/generation_config.h"
#include "core/run/stop_rules.h"

namespace sluice {
namespace {

using Json = nlohmann::ordered_json;

Error wrong(std::size_t entry, const std::string& what) { return Error{Errc::BadRequest, fmt::format("--script, entry {}: {}", entry, what)}; }

/// Waits, unless somebody cancels.
Result<Done> pause(std::chrono::milliseconds time, bool for_ever, ForwardWatch* watch) {
  const auto end = std::chrono::steady_clock::now() + time;
  const auto begin = std::chrono::steady_clock::now();
  while (for_ever || std::chrono::steady_clock::now() < end) {
    if (watch != nullptr) {
      if (watch->cancelled()) return Error{Errc::Cancelled, "cancelled"};
      const double gone = double((std::chrono::steady_clock::now() - begin).count());
      if (!for_ever) watch->progress(gone, double(std::chrono::nanoseconds(time).count()));
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return Done{};
}

Result<ScriptEntry> parseEntry(const Json& json, std::size_t number, const Tokenizer& tokenizer) {
  ScriptEntry entry;
  for (const auto& [key, value] : json.items()) {
    if (key == "match") {
      entry.prompt_contains = value.value("prompt_contains", "");
    } else if (key == "ids") {
      for (const Json& id : value) entry.ids.push_back(TokenId(id.get<std::uint32_t>()));
    } else if (key == "text") {
      entry.ids = TRY(tokenizer.encode(value.get<std::string>(), true));
    } else if (key == "then") {
      const std::string then = value.get<std::string>();
      if (then == "eos") entry.then = ScriptEnd::Eos;
      else if (then == "repeat") entry.then = ScriptEnd::Repeat;
      else if (then == "stall") entry.then = ScriptEnd::Stall;
      else if (then == "spew") entry.then = ScriptEnd::Spew;
      else return wrong(number, fmt::format("then is '{}', and must be eos, repeat, stall or spew", then));
    } else if (key == "boost") {
      entry.boost = value.get<double>();
    } else if (key == "exit_rank") {
      entry.exit_rank = value.get<int>();
    } else if (key == "nan_at") {
      entry.nan_at = value.get<int>();
    } else if (key == "fail") {
      const std::string at = value.value("at", "decode");
      if (at != "prefill" && at != "decode") return wrong(number, fmt::format("fail.at is '{}', and must be prefill or decode", at));
      entry.fail_prefill = at == "prefill";
      if (!entry.fail_prefill) entry.fail_step = value.value("step", 0);
    } else if (key == "step_ms") {
      entry.step = std::chrono::milliseconds(value.get<int>());
    } else if (key == "prefill_ms") {
      entry.prefill = std::chrono::milliseconds(value.get<int>());
    } else {
      return wrong(number, fmt::format("'{}' is no part of a script", key));
    }
  }
  if (entry.then == ScriptEnd::Repeat && entry.ids.empty()) return wrong(number, "there is nothing to repeat");
  return entry;
}

}  // namespace

Result<std::vector<ScriptEntry>> parseScript(const std::string& json, const Tokenizer& tokenizer) {
  std::vector<ScriptEntry> script;
  try {
    const Json list = Json::parse(json);
    if (!list.is_array()) return Error{Errc::BadRequest, "--script is not a JSON array"};
    for (const Json& one : list) {
      if (!one.is_object()) return wrong(script.size(), "not an object");
      script.push_back(TRY(parseEntry(one, script.size(), tokenizer)));
    }
  } catch (const std::exception& fault) {
    return Error{Errc::BadRequest, fmt::format("--script, entry {}: {}", script.size(), fault.what())};
  }
  return script;
}

ScriptedForward::ScriptedForward(std::vector<ScriptEntry> script, const Tokenizer& tokenizer, const ScriptedOptions& options)
    : script_(std::move(script)), tokenizer_(tokenizer), options_(options) {
  facts_.vocabulary = options.vocabulary;
  facts_.context = options.context;
  facts_.rows_max = options.rows_max;
  sequences_.resize(std::size_t(options.sequences_max));
}

Result<SequenceId> ScriptedForward::open() {
  for (std::size_t i = 0; i < sequences_.size(); ++i) {
    if (sequences_[i].open) continue;
    sequences_[i] = Sequence();
    sequences_[i].open = true;
    return SequenceId(std::uint32_t(i));
  }
  return Error{Errc::OutOfBudget, fmt::format("all {} sequences are in use", sequences_.size())};
}

void ScriptedForward::close(SequenceId sequence) {
  CHECK(sequences_[sequence.value()].open);
  sequences_[sequence.value()].open = false;
}

void ScriptedForward::rollback(SequenceId sequence, int length) { sequences_[sequence.value()].ids.resize(std::size_t(length)); }

Result<Done> ScriptedForward::begin(Sequence& sequence, ForwardWatch* watch) {
  std::string text;
  for (const TokenId id : sequence.ids) text += tokenizer_.bytesOf(id);
  for (const ScriptEntry& entry : script_) {
    if (sequence.entry == nullptr && text.find(entry.prompt_contains) != std::string::npos) sequence.entry = &entry;
  }
  if (sequence.entry == nullptr) return Error{Errc::BadRequest, "no entry of the script matches the prompt"};
  if (sequence.entry->fail_prefill) return Error{Errc::Io, "the script wants the prompt to fail"};
  TRY(pause(sequence.entry->prefill, false, watch));
  sequence.prompt_length = int(sequence.ids.size());
  return Done{};
}

Result<Done> ScriptedForward::step(const Sequence& sequence, int token_idx, ForwardWatch* watch) {
  const ScriptEntry& entry = *sequence.entry;
  if (entry.fail_step == token_idx) return Error{Errc::Io, fmt::format("the script wants token {} to fail", token_idx)};
  const bool stalls = entry.then == ScriptEnd::Stall && token_idx >= int(entry.ids.size());
  return pause(entry.step, stalls, watch);
}

TokenId ScriptedForward::wanted(const ScriptEntry& entry, int token_idx) const {
  const int count = int(entry.ids.size());
  if (token_idx < count) return entry.ids[std::size_t(token_idx)];
  switch (entry.then) {
    case ScriptEnd::Eos:
    case ScriptEnd::Stall: return options_.stop_ids.empty() ? TokenId(0) : options_.stop_ids.front();
    case ScriptEnd::Repeat: return entry.ids[std::size_t(token_idx % count)];
    case ScriptEnd::Spew: break;
  }
  // Plain tokens, ever others.
  for (std::uint64_t draw = std::uint64_t(token_idx) << 8;; ++draw) {
    const TokenId id(std::uint32_t(mix64(draw) % std::uint64_t(options_.vocabulary)));
    if (!tokenizer_.isAdded(id) && !tokenizer_.bytesOf(id).empty()) return id;
  }
}

void ScriptedForward::write(const Sequence& sequence, int token_idx, std::span<float> logits) const {
  const ScriptEntry& entry = *sequence.entry;
  for (std::size_t id = 0; id < logits.size(); ++id) logits[id] = float(uniformAt(std::uint64_t(token_idx), id));
  const float top = float(entry.boost);
  const TokenId token = wanted(entry, token_idx);
  if (entry.exit_rank) {
    ChannelMachine channel(options_.tags, std::span(sequence.ids).first(std::size_t(sequence.prompt_length)));
    for (std::size_t i = std::size_t(sequence.prompt_length); i < sequence.ids.size(); ++i) channel.push(sequence.ids[i]);
    const bool reasoning = channel.channel() == Channel::Reasoning && options_.tags.think_close.has_value();
    const TokenId exit = reasoning ? *options_.tags.think_close : wanted(ScriptEntry{}, 0);
    // The exit and those above it share the upper half of the gap between the rest and the wanted token.
    const float step = (top - 1) / 2 / float(*entry.exit_rank + 1);
    std::uint32_t filler = 0;
    for (int rank = 1; rank < *entry.exit_rank; ++rank, ++filler) {
      while (TokenId(filler) == exit || TokenId(filler) == token) ++filler;
      if (filler < logits.size()) logits[filler] = top - step * float(rank);
    }
    logits[exit.value()] = top - step * float(*entry.exit_rank);
    if (*entry.exit_rank == 0) logits[exit.value()] = top + 1;
  }
  logits[token.value()] = std::max(top, logits[token.value()]);
  if (entry.nan_at == token_idx) logits[logits.size() / 2] = std::numeric_limits<float>::quiet_NaN();
}

Result<ForwardOutput> ScriptedForward::forward(std::span<const ForwardRow> rows, ForwardWatch* watch) {
  CHECK(!rows.empty() && int(rows.size()) <= facts_.rows_max);
  const std::vector<Sequence> before = sequences_;
  logits_.clear();
  int wanted_rows = 0;
  for (const ForwardRow& row : rows) {
    Sequence& sequence = sequences_[row.sequence.value()];
    CHECK(sequence.open && row.position == int(sequence.ids.size()) && row.position < facts_.context);
    sequence.ids.push_back(row.token);
    if (!row.wants_logits) continue;
    Result<Done> went = sequence.prompt_length < 0 ? begin(sequence, watch) : Result<Done>(Done{});
    const int token_idx = int(sequence.ids.size()) - sequence.prompt_length;
    if (went.ok()) went = step(sequence, token_idx, watch);
    if (!went.ok()) {
      sequences_ = before;
      return went.error();
    }
    logits_.resize(logits_.size() + std::size_t(facts_.vocabulary));
    write(sequence, token_idx, std::span(logits_).last(std::size_t(facts_.vocabulary)));
    ++wanted_rows;
  }
  if (watch != nullptr) watch->progress(1, 1);
  ForwardOutput out;
  out.logits = {std::span(logits_), wanted_rows, facts_.vocabulary, facts_.vocabulary};
  return out;
}

namespace {

class ScriptedModel final : public LoadedModel {
 public:
  static Result<std::unique_ptr<LoadedModel>> load(const ModelOptions& options, const std::filesystem::path& script) {
    auto made = std::unique_ptr<ScriptedModel>(new ScriptedModel());
    made->tokenizer_ = std::make_unique<Tokenizer>(TRY(Tokenizer::load(options.model / "tokenizer.json")));
    Result<std::string> text = readWholeFile(script, 64_MiB);
    if (!text.ok()) return Error{Errc::BadRequest, fmt::format("--script: {}", text.error().what)};
    std::vector<ScriptEntry> entries = TRY(parseScript(text.value(), *made->tokenizer_));
    const std::vector<TokenId> config_stops = TRY(readStopIds(options.model, "config.json"));
    const std::vector<TokenId> generation_stops = TRY(readStopIds(options.model, "generation_config.json"));
    ScriptedOptions scripted;
    scripted.vocabulary = made->tokenizer_->size();
    if (options.context != 0) scripted.context = options.context;
    scripted.rows_max = options.prefill_rows != 0 ? options.prefill_rows : scripted.context;
    scripted.stop_ids = unionOf(config_stops, generation_stops);
    scripted.tags = channelTagsOf(*made->tokenizer_);
    made->facts_.family = "scripted";
    made->facts_.stop_ids = scripted.stop_ids;
    made->facts_.isa = "none";
    made->facts_.io = "none";
    made->forward_ = std::make_unique<ScriptedForward>(std::move(entries), *made->tokenizer_, scripted);
    return std::unique_ptr<LoadedModel>(std::move(made));
  }

  Forward& forward() override { return *forward_; }
  const LoadedFacts& facts() const override { return facts_; }
  StreamReport streamReport() const override { return {}; }
  std::vector<Warning> lateWarnings() const override { return {}; }
  void watch(LayerTap*) override {}

 private:
  std::unique_ptr<Tokenizer> tokenizer_;
  std::unique_ptr<ScriptedForward> forward_;
  LoadedFacts facts_;
};

}  // namespace

ModelLoader scriptedModels(const std::filesystem::path& script) {
  return [&script](const ModelOptions& options, const LoadWatch&) { return ScriptedModel::load(options, script); };
}

}  // namespace sluice
