#pragma once
// One answer from begin to end: drives the engine, shows text as it comes, gathers what happened.

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/app.h"

namespace sluice {

struct PhaseTime {
  int tokens = 0;
  double seconds = 0;
  double rate() const { return seconds > 0 ? tokens / seconds : 0; }
};

struct Answer {
  std::vector<TokenId> ids;  // the one that ended it included
  std::string text, reasoning;
  Generation::End end{EndReason::Eos, "", std::nullopt};
  Usage usage;
  PhaseTime prefill, decode;  // decode: tokens after the first
  StreamReport stream;        // during this answer
};

/// Text that may be shown now. An error stops the generation (a full disk behind stdout).
using ShowText = std::function<Result<Done>(Channel channel, std::string_view text)>;

/// Generates until the end. Ctrl-C (through `interrupts`) ends it as cancelled.
/// errors  those of Engine::begin; what comes later is in Answer::end
Result<Answer> makeAnswer(App& app, GenerationSpec spec, const ShowText& show, Progress& progress, const InterruptGuard& interrupts,
                          const std::function<void(const Generation&)>& begun = {});

/// Content to stdout, reasoning to stderr (dimmed on a terminal).
class TerminalText {
 public:
  TerminalText();
  Result<Done> show(Channel channel, std::string_view text);
  /// Ends the lines that are open.
  void close();

 private:
  bool dims_;
  bool reasoning_open_ = false, content_open_ = false;
};

/// -n, and who set the limit.
TokenLimit limitOf(const AnswerOptions& options);

/// The request's sampling over the file's; a random seed where none is given.
Result<SamplingOptions> samplingOf(const App& app, const Options& options);

}  // namespace sluice
