// Goal: tags move text between channels and are never text; where a prompt leaves off decides where an answer begins.

#include "core/run/channel.h"

#include <gtest/gtest.h>

namespace sluice {
namespace {

constexpr TokenId kOpen{100}, kClose{101}, kAssistant{102}, kWord{7};
const ChannelTags kTags{kOpen, kClose, kAssistant};

Channel startOf(std::vector<TokenId> prompt, const ChannelTags& tags = kTags) { return ChannelMachine(tags, prompt).channel(); }

TEST(ChannelMachine, StartsWhereThePromptLeavesOff) {
  EXPECT_EQ(startOf({kWord, kAssistant, kOpen}), Channel::Reasoning);
  EXPECT_EQ(startOf({kWord, kAssistant, kOpen, kWord}), Channel::Reasoning);
  EXPECT_EQ(startOf({kWord, kAssistant, kOpen, kClose}), Channel::Content);
  EXPECT_EQ(startOf({kWord, kAssistant}), Channel::Content);
  EXPECT_EQ(startOf({kWord}), Channel::Content);
  EXPECT_EQ(startOf({}), Channel::Content);
}

TEST(ChannelMachine, ATagBeforeTheLastAssistantBelongsToAnEarlierTurn) {
  EXPECT_EQ(startOf({kAssistant, kOpen, kWord, kAssistant}), Channel::Content);
  // Negative control: the same tags without the assistant's tag between.
  EXPECT_EQ(startOf({kAssistant, kOpen, kWord}), Channel::Reasoning);
}

TEST(ChannelMachine, WithoutTagsEverythingIsContent) {
  ChannelMachine machine(ChannelTags{}, std::vector<TokenId>{kOpen});
  EXPECT_EQ(machine.channel(), Channel::Content);
  EXPECT_FALSE(machine.push(kClose).tag);
  EXPECT_EQ(machine.push(kOpen).channel, Channel::Content);
}

TEST(ChannelMachine, ClosesOnce_ReopensWhenToldTo_SwallowsAndCountsStrayCloses) {
  ChannelMachine machine(kTags, std::vector<TokenId>{kAssistant, kOpen});
  EXPECT_EQ(machine.push(kWord).channel, Channel::Reasoning);
  const ChannelMachine::Step close = machine.push(kClose);
  EXPECT_TRUE(close.tag);
  EXPECT_EQ(close.channel, Channel::Reasoning);
  EXPECT_EQ(machine.push(kWord).channel, Channel::Content);
  const ChannelMachine::Step stray = machine.push(kClose);
  EXPECT_TRUE(stray.tag);
  EXPECT_EQ(stray.channel, Channel::Content);
  EXPECT_EQ(machine.strayCloses(), 1);
  EXPECT_TRUE(machine.push(kOpen).tag);
  EXPECT_EQ(machine.push(kWord).channel, Channel::Reasoning);
}

}  // namespace
}  // namespace sluice
