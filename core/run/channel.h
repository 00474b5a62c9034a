#pragma once
// Which channel a token belongs to: a machine over token ids, started from the rendered prompt. Tags are never text.

#include <optional>
#include <span>

#include "core/base/ids.h"
#include "core/ports/event_log.h"
#include "core/text/tokenizer.h"

namespace sluice {

/// The ids that move between channels; absent where the vocabulary has no such token. Only added tokens count: text that spells a tag is text.
struct ChannelTags {
  std::optional<TokenId> think_open, think_close;
  std::optional<TokenId> assistant;  // begins the model's own turn: a think tag before it belongs to an earlier one
};

/// `<think>`, `</think>`, and the first of the known names of the assistant's turn.
ChannelTags channelTagsOf(const Tokenizer& tokenizer);

/// A value: copying it copies its state.
class ChannelMachine {
 public:
  /// Starts where `prompt` leaves off: in reasoning when its last think tag after the last assistant tag opens a block.
  ChannelMachine(const ChannelTags& tags, std::span<const TokenId> prompt);

  struct Step {
    Channel channel;  // what the token belongs to: a closing tag to the reasoning that it closes, an opening tag to the one it opens
    bool tag;         // the token is no text
  };
  Step push(TokenId id);
  /// Where the next token's text goes.
  Channel channel() const { return channel_; }
  /// Closing tags that closed nothing: swallowed, and counted.
  int strayCloses() const { return stray_closes_; }

 private:
  ChannelTags tags_;
  Channel channel_ = Channel::Content;
  int stray_closes_ = 0;
};

}  // namespace sluice
