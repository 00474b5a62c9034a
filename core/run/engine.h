#pragma once
// The facade: prompts to ids, specs to running generations, and the one driver behind them.

#include <memory>
#include <string_view>
#include <vector>

#include "core/ports/forward.h"
#include "core/run/driver.h"
#include "core/run/generation.h"
#include "core/text/tokenizer.h"

namespace sluice {

/// What an engine is made of; all of it outlives the engine.
struct EngineParts {
  Forward* forward = nullptr;
  const Tokenizer* tokenizer = nullptr;  // null: ids only
  std::vector<TokenId> stop_ids;         // the armed set, sorted
};

class Engine {
 public:
  explicit Engine(EngineParts parts);

  /// Ids of a rendered chat prompt.
  /// errors  Unsupported (no tokenizer), those of Tokenizer::encode
  Result<std::vector<TokenId>> promptOf(std::span<const AuthoredText> rendered) const;
  /// Ids of raw text, which its operator may fill with added tokens; what the tokenizer's post-processor adds is added.
  Result<std::vector<TokenId>> promptOf(std::string_view raw) const;

  /// Checks `spec`, adds the model's stop ids to it, gives it a seat. The generation goes on with step(). `log` outlives it.
  /// errors  those of Generation::check; OutOfBudget (no sequence left)
  Result<std::unique_ptr<Generation>> begin(GenerationSpec spec, EventLog& log);
  /// Gives any other timeline a seat.
  Result<Done> add(Timeline& timeline) { return driver_.add(timeline); }
  /// One forward for all that live; false when none does.
  bool step() { return driver_.step(); }

  const std::vector<TokenId>& stopIds() const { return parts_.stop_ids; }
  const ForwardFacts& facts() const { return parts_.forward->facts(); }

 private:
  EngineParts parts_;
  ChannelTags tags_;
  Driver driver_;
};

}  // namespace sluice
