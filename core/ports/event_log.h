#pragma once
// The events of one generation: appended once, read by any number of cursors at their own pace. Implemented in memory (core/run) and, for
// jobs, by SQLite (cli/serve).

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/base/ids.h"
#include "core/base/result.h"

namespace sluice {

enum class Channel : std::uint8_t { Reasoning, Content, ToolCall };

/// Why a generation ended; exactly one, and true.
enum class EndReason : std::uint8_t { Eos, StopSequence, ToolCall, MaxTokens, ContextFull, LoopGuard, Deadline, Cancelled, Error };

struct Event {
  enum class Kind : std::uint8_t {
    PromptProgress,  // done, total tokens of the prompt
    Token,           // an accepted token: id, channel
    Text,            // text of `channel` that may be shown now
    End,             // reason and detail; the last event
  };
  Kind kind = Kind::Token;
  Channel channel = Channel::Content;
  TokenId token;
  std::string text;  // Text: the piece; End: the detail
  double done = 0, total = 0;
  EndReason reason = EndReason::Eos;
};

class EventLog {
 public:
  virtual ~EventLog() = default;
  /// Appends; the event's number is the count of events before it. Errors: Io (a log on disk).
  virtual Result<Done> append(Event event) = 0;
  /// Copies events from number `from` on into `out` (appending); returns the number after the last. Never blocks. Any thread.
  virtual std::uint64_t read(std::uint64_t from, std::vector<Event>& out) const = 0;
};

}  // namespace sluice
