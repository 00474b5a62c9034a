#include "core/run/generation.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

namespace sluice {

const char* nameOf(EndReason reason) {
  switch (reason) {
    case EndReason::Eos: return "eos";
    case EndReason::StopSequence: return "stop_sequence";
    case EndReason::ToolCall: return "tool_call";
    case EndReason::MaxTokens: return "max_tokens";
    case EndReason::ContextFull: return "context_full";
    case EndReason::LoopGuard: return "loop_guard";
    case EndReason::Deadline: return "deadline";
    case EndReason::Cancelled: return "cancelled";
    case EndReason::Error: return "error";
  }
  UNREACHABLE();
}

Result<Done> Generation::check(const GenerationSpec& spec, const GenerationPlace& place) {
  if (spec.prompt.empty()) return Error{Errc::BadRequest, "the prompt has no tokens; a model needs at least one to go on from"};
  if (spec.prompt.size() >= std::size_t(place.context))
    return Error{Errc::BadRequest, fmt::format("the prompt has {} tokens and the context holds {}, the answer included; shorten the prompt or give a larger --context",
                                               spec.prompt.size(), place.context)};
  for (std::size_t i = 0; i < spec.prompt.size(); ++i) {
    if (spec.prompt[i].value() >= std::uint32_t(place.vocabulary))
      return Error{Errc::BadRequest, fmt::format("the prompt's id {} at index {} is outside the vocabulary of {} tokens (0 to {})",
                                                 spec.prompt[i].value(), i, place.vocabulary, place.vocabulary - 1)};
  }
  if (spec.limit.tokens == 0 || spec.limit.tokens < -1)
    return Error{Errc::BadRequest, fmt::format("the limit of tokens is {}, and must be at least 1, or -1 for as many as the context holds", spec.limit.tokens)};
  return checkStopTexts(spec.stop_texts);
}

Generation::Generation(GenerationSpec spec, const GenerationPlace& place, EventLog& log)
    : place_(place),
      log_(log),
      limit_(std::move(spec.limit)),
      stop_ids_(std::move(spec.stop_ids)),
      sampler_(spec.sampling, place.vocabulary),
      channel_(place.tags, spec.prompt),
      stop_texts_(std::move(spec.stop_texts)),
      ids_(std::move(spec.prompt)),
      prompt_length_(ids_.size()),
      cancel_elsewhere_(spec.cancel) {
  if (place_.tokenizer != nullptr) detokenizer_.emplace(*place_.tokenizer);
  usage_.prompt_tokens = int(prompt_length_);
  const std::size_t room = std::size_t(place_.context) - prompt_length_;
  ids_.reserve(prompt_length_ + (limit_.tokens < 0 ? room : std::min(room, std::size_t(limit_.tokens))));
  piece_.reserve(4096);
  shown_.reserve(4096);
}

RowPlan Generation::plan() const {
  CHECK(!done());
  return {std::span(ids_).subspan(std::size_t(computed_)), computed_, RowWants::Last, false};
}

void Generation::append(Event event) {
  const bool ends = event.kind == Event::Kind::End;
  const Result<Done> appended = log_.append(std::move(event));
  // An answer that cannot be recorded is an error, unless its end is what could not be recorded.
  if (!appended.ok() && !ends && !end_) end_ = End{EndReason::Error, appended.error().what, appended.error()};
}

void Generation::progress(double rows_done) {
  if (done() || !inPrompt()) return;
  const double now = std::min(double(computed_) + rows_done, double(prompt_length_));
  // A hundred marks a prompt are enough for anybody.
  if (now < double(prompt_length_) && now - progress_told_ < double(prompt_length_) * 0.01) return;
  if (now <= progress_told_) return;
  progress_told_ = now;
  Event event;
  event.kind = Event::Kind::PromptProgress;
  event.done = now;
  event.total = double(prompt_length_);
  append(std::move(event));
}

void Generation::advance(int rows, const ForwardOutput& output) {
  CHECK(!done());
  progress(double(rows));
  computed_ += rows;
  if (done() || std::size_t(computed_) < ids_.size()) return;
  CHECK(output.logits.rows == 1);
  Result<TokenId> drawn = sampler_.sample(output.logits.row(0), ids_.size());
  if (!drawn.ok()) return fail(drawn.error());
  take(drawn.value());
}

void Generation::say(Channel channel, const std::string& text) {
  if (text.empty()) return;
  Event event;
  event.kind = Event::Kind::Text;
  event.channel = channel;
  event.text = text;
  append(std::move(event));
}

void Generation::flushText() {
  if (!detokenizer_) return;
  piece_.clear();
  shown_.clear();
  detokenizer_->flush(piece_);
  if (channel_.channel() != Channel::Content) return say(channel_.channel(), piece_);
  if (!stop_texts_.push(piece_, shown_)) stop_texts_.flush(shown_);
  say(Channel::Content, shown_);
}

void Generation::take(TokenId id) {
  CHECK(!done());
  ids_.push_back(id);
  ++usage_.completion_tokens;
  const bool stops = std::binary_search(stop_ids_.begin(), stop_ids_.end(), id);
  const Channel before = channel_.channel();
  // A closing tag ends the reasoning's text before it changes the channel; half a character becomes what it is.
  if (!stops && detokenizer_ && (id == place_.tags.think_open || id == place_.tags.think_close)) flushText();
  const ChannelMachine::Step step = stops ? ChannelMachine::Step{before, true} : channel_.push(id);
  if (step.channel == Channel::Reasoning) ++usage_.reasoning_tokens;

  Event token;
  token.kind = Event::Kind::Token;
  token.channel = step.channel;
  token.token = id;
  append(std::move(token));

  if (stops) return finish(EndReason::Eos, fmt::format("token {}", id.value()));
  if (detokenizer_ && !step.tag && !place_.tokenizer->isSpecial(id)) {
    piece_.clear();
    detokenizer_->push(id, piece_);
    if (step.channel == Channel::Content) {
      shown_.clear();
      const bool matched = stop_texts_.push(piece_, shown_);
      say(Channel::Content, shown_);
      if (matched) return finish(EndReason::StopSequence, stop_texts_.matched());
    } else {
      say(step.channel, piece_);
    }
  }
  checkLimits();
}

void Generation::checkLimits() {
  if (done()) return;
  if (limit_.tokens >= 0 && usage_.completion_tokens >= limit_.tokens)
    return finish(EndReason::MaxTokens, fmt::format("{} tokens, set by {}", limit_.tokens, limit_.set_by));
  if (ids_.size() >= std::size_t(place_.context))
    return finish(EndReason::ContextFull, fmt::format("{} tokens, of which the prompt has {}", place_.context, prompt_length_));
}

void Generation::fail(const Error& error) {
  if (done()) return;
  if (error.code == Errc::Cancelled) return finish(EndReason::Cancelled, "by the user");
  finish(EndReason::Error, error.what, error);
}

void Generation::finish(EndReason reason, std::string detail, std::optional<Error> error) {
  if (reason != EndReason::StopSequence) flushText();
  if (done()) return;
  Event event;
  event.kind = Event::Kind::End;
  event.channel = channel_.channel();
  event.reason = reason;
  event.text = detail;
  end_ = End{reason, std::move(detail), std::move(error)};
  append(std::move(event));
}

}  // namespace sluice
