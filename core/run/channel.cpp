#include "core/run/channel.h"

namespace sluice {

ChannelTags channelTagsOf(const Tokenizer& tokenizer) {
  const auto added = [&](std::string_view text) {
    const std::optional<TokenId> id = tokenizer.find(text);
    return id && tokenizer.isAdded(*id) ? id : std::nullopt;
  };
  ChannelTags tags;
  tags.think_open = added("<think>");
  tags.think_close = added("</think>");
  for (const char* name : {"<|assistant|>", "<assistant>", "<|im_start|>", "<\xef\xbd\x9c" "Assistant\xef\xbd\x9c>"}) {
    if (!tags.assistant) tags.assistant = added(name);
  }
  return tags;
}

ChannelMachine::ChannelMachine(const ChannelTags& tags, std::span<const TokenId> prompt) : tags_(tags) {
  for (std::size_t i = prompt.size(); i-- > 0;) {
    const TokenId id = prompt[i];
    if (tags_.think_open == id) channel_ = Channel::Reasoning;
    if (tags_.think_open == id || tags_.think_close == id || tags_.assistant == id) break;
  }
}

ChannelMachine::Step ChannelMachine::push(TokenId id) {
  if (tags_.think_open == id) {
    channel_ = Channel::Reasoning;
    return {Channel::Reasoning, true};
  }
  if (tags_.think_close == id) {
    if (channel_ != Channel::Reasoning) {
      ++stray_closes_;
      return {channel_, true};
    }
    channel_ = Channel::Content;
    return {Channel::Reasoning, true};
  }
  return {channel_, false};
}

}  // namespace sluice
