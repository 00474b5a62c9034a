#pragma once
// Guesses the next tokens. Called by core/run/generation; implemented by mtp/. The acceptance rule is core/run's, so a drafter can change
// time, never text.

#include <span>
#include <string_view>

#include "core/base/ids.h"

namespace sluice {

class Drafter {
 public:
  virtual ~Drafter() = default;
  /// Up to draft.size() guesses of what follows `ids`; returns how many were written. May compute; never waits for a person.
  virtual int propose(std::span<const TokenId> ids, std::span<TokenId> draft) = 0;
  /// Of the last proposal, the first `accepted` were right.
  virtual void accept(int accepted) = 0;
  virtual std::string_view mode() const = 0;  // "off", "mtp", "lookup"
  virtual std::string_view why() const = 0;   // in words, for reports
};

/// Guesses nothing.
class NoDrafter final : public Drafter {
 public:
  int propose(std::span<const TokenId>, std::span<TokenId>) override { return 0; }
  void accept(int) override {}
  std::string_view mode() const override { return "off"; }
  std::string_view why() const override { return "drafting is not built in yet"; }
};

}  // namespace sluice
