#include "cli/answer.h"

#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <random>

#include <fmt/format.h>

#include "core/base/file.h"
#include "core/run/memory_event_log.h"

namespace sluice {
namespace {

StreamReport since(const StreamReport& now, const StreamReport& before) {
  StreamReport d = now;
  d.hits -= before.hits;
  d.misses -= before.misses;
  d.bytes_read = now.bytes_read - before.bytes_read;
  d.read_time -= before.read_time;
  d.wait_time -= before.wait_time;
  d.speculative_used -= before.speculative_used;
  d.speculative_late -= before.speculative_late;
  d.speculative_vain -= before.speculative_vain;
  d.speculative_dropped -= before.speculative_dropped;
  d.reads_retried -= before.reads_retried;
  d.joined -= before.joined;
  return d;
}

// Reads the events of one generation as they come.
class Reader {
 public:
  Reader(const EventLog& log, const ShowText& show, Progress& progress) : log_(log), show_(show), progress_(progress) {}

  Result<Done> drain(Answer& answer) {
    events_.clear();
    next_ = log_.read(next_, events_);
    for (const Event& event : events_) {
      switch (event.kind) {
        case Event::Kind::PromptProgress: progress_.show("reading the prompt", event.done, event.total, "tokens"); break;
        case Event::Kind::Token:
          progress_.clear();
          answer.ids.push_back(event.token);
          break;
        case Event::Kind::Text:
          (event.channel == Channel::Reasoning ? answer.reasoning : answer.text) += event.text;
          TRY(show_(event.channel, event.text));
          break;
        case Event::Kind::End: progress_.clear(); break;
      }
    }
    return Done{};
  }

 private:
  const EventLog& log_;
  const ShowText& show_;
  Progress& progress_;
  std::vector<Event> events_;
  std::uint64_t next_ = 0;
};

// A log in memory that tells when something was appended: a long forward reports its progress from within.
class LiveLog final : public EventLog {
 public:
  LiveLog() : log_(4096, 64 << 10) {}
  void tell(std::function<void()> appended) { appended_ = std::move(appended); }
  Result<Done> append(Event event) override {
    TRY(log_.append(std::move(event)));
    appended_();
    return Done{};
  }
  std::uint64_t read(std::uint64_t from, std::vector<Event>& out) const override { return log_.read(from, out); }

 private:
  MemoryEventLog log_;
  std::function<void()> appended_;
};

double secondsBetween(std::chrono::nanoseconds from, std::chrono::nanoseconds to) { return std::chrono::duration<double>(to - from).count(); }

Result<Done> writeAll(std::FILE* file, std::string_view text, const char* name) {
  if (std::fwrite(text.data(), 1, text.size(), file) == text.size() && std::fflush(file) == 0) return Done{};
  return Error{Errc::Io, fmt::format("writing to {} failed: {}", name, errnoText(errno))};
}

}  // namespace

Result<Answer> makeAnswer(App& app, GenerationSpec spec, const ShowText& show, Progress& progress, const InterruptGuard& interrupts,
                          const std::function<void(const Generation&)>& begun) {
  const SteadyClock clock;
  Answer answer;
  LiveLog log;
  Reader reader(log, show, progress);
  std::optional<Error> show_fault;
  log.tell([&] {
    if (show_fault) return;
    const Result<Done> shown = reader.drain(answer);
    if (!shown.ok()) show_fault = shown.error();
  });
  spec.cancel = &interrupts.flag();
  const StreamReport before = app.model->streamReport();
  const std::chrono::nanoseconds started = clock.now();
  std::chrono::nanoseconds first_token{0};
  const std::unique_ptr<Generation> generation = TRY(app.engine->begin(std::move(spec), log));
  if (begun) begun(*generation);
  while (!generation->done()) {
    CHECK(app.engine->step());
    if (first_token.count() == 0 && !generation->answer().empty()) first_token = clock.now();
    if (show_fault) generation->fail(*show_fault);
  }
  // The driver still has to let go of its seat.
  while (app.engine->step()) {
  }
  const std::chrono::nanoseconds ended = clock.now();
  answer.end = *generation->ended();
  answer.usage = generation->usage();
  const bool began_to_answer = first_token.count() != 0;
  answer.prefill = {answer.usage.prompt_tokens, secondsBetween(started, began_to_answer ? first_token : ended)};
  if (began_to_answer) answer.decode = {answer.usage.completion_tokens - 1, secondsBetween(first_token, ended)};
  answer.stream = since(app.model->streamReport(), before);
  return answer;
}

TerminalText::TerminalText() : dims_(isatty(2) == 1) {}

Result<Done> TerminalText::show(Channel channel, std::string_view text) {
  if (channel == Channel::Reasoning) {
    std::string out;
    if (!reasoning_open_ && dims_) out += "\033[2m";
    reasoning_open_ = true;
    out += text;
    return writeAll(stderr, out, "stderr");
  }
  if (reasoning_open_) {
    reasoning_open_ = false;
    TRY(writeAll(stderr, dims_ ? "\033[0m\n" : "\n", "stderr"));
  }
  content_open_ = true;
  return writeAll(stdout, text, "stdout");
}

void TerminalText::close() {
  // What cannot be written now could not be written before, and that was told.
  if (reasoning_open_) (void)writeAll(stderr, dims_ ? "\033[0m\n" : "\n", "stderr");
  if (content_open_) (void)writeAll(stdout, "\n", "stdout");
  reasoning_open_ = content_open_ = false;
}

TokenLimit limitOf(const AnswerOptions& options) {
  TokenLimit limit;
  if (options.tokens) limit = {*options.tokens, "-n"};
  return limit;
}

Result<SamplingOptions> samplingOf(const App& app, const Options& options) {
  std::uint64_t seed = 0;
  if (options.model.seed) {
    seed = *options.model.seed;
  } else {
    std::random_device chance;
    // 53 bits: a seed that is printed in JSON comes back whole from any reader.
    seed = ((std::uint64_t(chance()) << 32) | chance()) & ((std::uint64_t(1) << 53) - 1);
  }
  return settleSampling(preferring(options.answer.sampling, app.generation.sampling), seed);
}

}  // namespace sluice
