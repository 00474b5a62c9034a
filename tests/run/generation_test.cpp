// Goal:   one generation is a fold over ids that says what it wants, where its text goes and why it ended; several share the driver's forwards and
//         none feels the others.
// Method: the bundled model's tokenizer over scripted logits; what must come is written down beside each script.

#include "core/run/generation.h"

#include <optional>

#include <gtest/gtest.h>

#include "core/run/driver.h"
#include "core/run/engine.h"
#include "core/run/memory_event_log.h"
#include "tests/support/scripted_model.h"

namespace sluice {
namespace {

constexpr TokenId kUser{2035}, kAssistant{2036}, kThink{2038}, kThinkEnd{2039};

const Tokenizer& tokenizer() {
  static const Tokenizer loaded = Tokenizer::load(std::string(SLUICE_TEST_DATA) + "/models/nano-gs64/tokenizer.json").value();
  return loaded;
}

std::vector<TokenId> idsOf(const std::string& text) { return tokenizer().encode(text, true).value(); }

std::vector<TokenId> joined(std::vector<TokenId> a, const std::vector<TokenId>& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

struct House {
  explicit House(const std::string& script, int sequences = 1, int rows_max = 4096, int context = 4096)
      : forward(parseScript(script, tokenizer()).value(), tokenizer(), options(sequences, rows_max, context)),
        engine({&forward, &tokenizer(), {kUser}}) {}
  static ScriptedOptions options(int sequences, int rows_max, int context) {
    ScriptedOptions o;
    o.vocabulary = tokenizer().size();
    o.context = context;
    o.rows_max = rows_max;
    o.sequences_max = sequences;
    o.stop_ids = {kUser};
    o.tags = channelTagsOf(tokenizer());
    return o;
  }
  ScriptedForward forward;
  Engine engine;
};

struct Told {
  std::string reasoning, content;
  std::vector<TokenId> ids;
  int ends = 0;
};

Told toldBy(const EventLog& log) {
  std::vector<Event> events;
  log.read(0, events);
  Told told;
  for (const Event& e : events) {
    EXPECT_EQ(told.ends, 0) << "nothing comes after the end";
    if (e.kind == Event::Kind::Token) told.ids.push_back(e.token);
    if (e.kind == Event::Kind::Text) (e.channel == Channel::Reasoning ? told.reasoning : told.content) += e.text;
    if (e.kind == Event::Kind::End) ++told.ends;
  }
  return told;
}

GenerationSpec specOf(std::vector<TokenId> prompt, int limit = 200) {
  GenerationSpec spec;
  spec.prompt = std::move(prompt);
  spec.sampling.temperature = 0;
  spec.limit = {limit, "the test"};
  return spec;
}

std::vector<TokenId> chat(const std::string& user, bool thinks) {
  std::vector<TokenId> ids = joined(joined({kUser}, idsOf(user)), {kAssistant, kThink});
  if (!thinks) ids.push_back(kThinkEnd);
  return ids;
}

struct Ran {
  Told told;
  Generation::End end;
  Usage usage;
};

Ran runOne(House& house, GenerationSpec spec) {
  MemoryEventLog log(16, 16);
  const std::unique_ptr<Generation> generation = house.engine.begin(std::move(spec), log).value();
  while (house.engine.step()) {
  }
  Ran ran{toldBy(log), *generation->ended(), generation->usage()};
  EXPECT_EQ(ran.told.ends, 1);
  EXPECT_EQ(int(ran.told.ids.size()), ran.usage.completion_tokens);
  return ran;
}

TEST(Generation, SplitsReasoningFromContent_TagsAreNeverText) {
  House house(R"([{"text": "Let me see.</think>Paris."}])");
  const Ran ran = runOne(house, specOf(chat("Capital?", true)));
  EXPECT_EQ(ran.told.reasoning, "Let me see.");
  EXPECT_EQ(ran.told.content, "Paris.");
  EXPECT_EQ(ran.end.reason, EndReason::Eos);
  EXPECT_EQ(ran.end.detail, "token 2035");
  EXPECT_EQ(ran.usage.reasoning_tokens, int(idsOf("Let me see.").size()) + 1);
  EXPECT_EQ(ran.usage.completion_tokens, int(idsOf("Let me see.</think>Paris.").size()) + 1);
  EXPECT_EQ(ran.told.ids.back(), kUser);
}

TEST(Generation, ReasoningThatNeverClosesStaysReasoning) {
  House house(R"([{"text": "Hm. ", "then": "repeat"}])");
  const Ran ran = runOne(house, specOf(chat("Capital?", true), 20));
  EXPECT_EQ(ran.told.content, "");
  EXPECT_FALSE(ran.told.reasoning.empty());
  EXPECT_EQ(ran.end.reason, EndReason::MaxTokens);
  EXPECT_EQ(ran.end.detail, "20 tokens, set by the test");
  EXPECT_EQ(ran.usage.reasoning_tokens, 20);
}

TEST(Generation, AStrayCloseIsSwallowed_ThinkingOff) {
  House house(R"([{"text": "One</think> two."}])");
  const Ran ran = runOne(house, specOf(chat("Count", false)));
  EXPECT_EQ(ran.told.content, "One two.");
  EXPECT_EQ(ran.told.reasoning, "");
}

TEST(Generation, StopStringsSleepInReasoning_AndWakeBehindTheCloseTag) {
  House house(R"([{"text": "a STOP b</think>c STOP d"}])");
  GenerationSpec spec = specOf(chat("x", true));
  spec.stop_texts = {"STOP"};
  const Ran ran = runOne(house, std::move(spec));
  EXPECT_EQ(ran.told.reasoning, "a STOP b");
  EXPECT_EQ(ran.told.content, "c ");
  EXPECT_EQ(ran.end.reason, EndReason::StopSequence);
  EXPECT_EQ(ran.end.detail, "STOP");
}

TEST(Generation, WhatWasHeldBackIsReleasedAtTheEnd) {
  House house(R"([{"text": "half of it: STO"}])");
  GenerationSpec spec = specOf(chat("x", false));
  spec.stop_texts = {"STOP"};
  EXPECT_EQ(runOne(house, std::move(spec)).told.content, "half of it: STO");
}

TEST(Generation, EndsWithContextFull_AndSaysTheNumbers) {
  House house(R"([{"text": "on and on ", "then": "repeat"}])", 1, 4096, 32);
  GenerationSpec spec = specOf(chat("x", false), -1);
  const int prompt = int(spec.prompt.size());
  const Ran ran = runOne(house, std::move(spec));
  EXPECT_EQ(ran.end.reason, EndReason::ContextFull);
  EXPECT_EQ(ran.usage.completion_tokens, 32 - prompt);
  EXPECT_NE(ran.end.detail.find("32"), std::string::npos);
}

TEST(Generation, RefusesPromptsThatCannotBe_WithNumbersAndCure) {
  House house(R"([{"text": "x"}])", 1, 4096, 8);
  MemoryEventLog log(16, 16);
  const Result<std::unique_ptr<Generation>> too_long = house.engine.begin(specOf(std::vector<TokenId>(8, TokenId(5))), log);
  ASSERT_FALSE(too_long.ok());
  EXPECT_EQ(too_long.error().code, Errc::BadRequest);
  EXPECT_NE(too_long.error().what.find("8 tokens"), std::string::npos);
  EXPECT_NE(too_long.error().what.find("--context"), std::string::npos);
  EXPECT_EQ(house.engine.begin(specOf({}), log).error().code, Errc::BadRequest);
  EXPECT_EQ(house.engine.begin(specOf({TokenId(999999)}), log).error().code, Errc::BadRequest);
  EXPECT_EQ(house.engine.begin(specOf({TokenId(5)}, 0), log).error().code, Errc::BadRequest);
  EXPECT_EQ(house.engine.begin(specOf({TokenId(5)}, -2), log).error().code, Errc::BadRequest);
  EXPECT_TRUE(house.engine.begin(specOf(std::vector<TokenId>(7, TokenId(5))), log).ok());
}

TEST(Generation, NanLogitsEndInAnError_NeverInTokenZero) {
  House house(R"([{"text": "fine so far", "nan_at": 2}])");
  const Ran ran = runOne(house, specOf(chat("x", false)));
  EXPECT_EQ(ran.end.reason, EndReason::Error);
  ASSERT_TRUE(ran.end.error.has_value());
  EXPECT_EQ(ran.end.error->code, Errc::Numeric);
  EXPECT_EQ(ran.usage.completion_tokens, 2);
}

TEST(Generation, AFailedForwardKeepsWhatCameBefore) {
  House house(R"([{"text": "fine so far and on", "fail": {"at": "decode", "step": 2}}])");
  const Ran ran = runOne(house, specOf(chat("x", false)));
  EXPECT_EQ(ran.end.reason, EndReason::Error);
  EXPECT_EQ(ran.end.error->code, Errc::Io);
  EXPECT_EQ(ran.usage.completion_tokens, 2);
  EXPECT_FALSE(ran.told.content.empty());
}

TEST(Generation, IsAFoldOverIds_ReplayingThemGivesTheSameEvents) {
  House house(R"([{"text": "Think \u00e9\u4e16.</think>Say \u4e16\u754c STOP more"}])");
  GenerationSpec spec = specOf(chat("x", true));
  spec.stop_texts = {"STOP"};
  const GenerationSpec again = spec;
  const Ran ran = runOne(house, std::move(spec));
  MemoryEventLog log(16, 16);
  GenerationPlace place;
  place.tokenizer = &tokenizer();
  place.tags = channelTagsOf(tokenizer());
  place.vocabulary = tokenizer().size();
  place.context = 4096;
  Generation replay(again, place, log);
  for (const TokenId id : ran.told.ids) replay.take(id);
  const Told told = toldBy(log);
  EXPECT_EQ(told.content, ran.told.content);
  EXPECT_EQ(told.reasoning, ran.told.reasoning);
  EXPECT_EQ(replay.ended()->reason, EndReason::StopSequence);
  EXPECT_EQ(replay.usage().reasoning_tokens, ran.usage.reasoning_tokens);
}

TEST(Driver, SeveralGenerationsShareForwards_EachSaysWhatItSaysAlone) {
  const std::string script = R"([{"match": {"prompt_contains": "first"}, "text": "The first answer is this."},
    {"match": {"prompt_contains": "second"}, "text": "And another one</think> for the second."},
    {"match": {"prompt_contains": "third"}, "text": "Third", "nan_at": 1}])";
  const char* names[] = {"first", "second", "third"};
  std::vector<Told> alone;
  for (const char* name : names) {
    House house(script);
    alone.push_back(runOne(house, specOf(chat(name, true))).told);
  }
  for (const int rows_max : {1, 2, 3, 7, 64}) {
    House house(script, 3, rows_max);
    std::vector<std::unique_ptr<MemoryEventLog>> logs;
    std::vector<std::unique_ptr<Generation>> generations;
    for (const char* name : names) {
      logs.push_back(std::make_unique<MemoryEventLog>(16, 16));
      generations.push_back(house.engine.begin(specOf(chat(name, true)), *logs.back()).value());
    }
    while (house.engine.step()) {
    }
    for (std::size_t i = 0; i < alone.size(); ++i) {
      const Told told = toldBy(*logs[i]);
      EXPECT_EQ(told.ids, alone[i].ids) << names[i] << ", rows " << rows_max;
      EXPECT_EQ(told.content, alone[i].content);
      EXPECT_EQ(told.reasoning, alone[i].reasoning);
    }
    EXPECT_EQ(generations[2]->ended()->reason, EndReason::Error) << "its NaN is its own";
    EXPECT_EQ(generations[0]->ended()->reason, EndReason::Eos);
  }
}

TEST(Driver, AForwardThatFailsForOneLeavesTheOthers) {
  const std::string script = R"([{"match": {"prompt_contains": "good"}, "text": "A long and good answer comes."},
    {"match": {"prompt_contains": "bad"}, "text": "A long and bad answer comes.", "fail": {"at": "decode", "step": 3}}])";
  House house(script, 2);
  MemoryEventLog good_log(16, 16), bad_log(16, 16);
  const auto good = house.engine.begin(specOf(chat("good", false)), good_log).value();
  const auto bad = house.engine.begin(specOf(chat("bad", false)), bad_log).value();
  while (house.engine.step()) {
  }
  EXPECT_EQ(good->ended()->reason, EndReason::Eos);
  EXPECT_EQ(toldBy(good_log).content, "A long and good answer comes.");
  EXPECT_EQ(bad->ended()->reason, EndReason::Error);
  EXPECT_EQ(bad->usage().completion_tokens, 3);
}

TEST(Driver, ACancelledGenerationEndsCleanly_AndItsSeatIsFree) {
  House house(R"([{"text": "for ever ", "then": "repeat"}])");
  MemoryEventLog log(16, 16);
  const auto generation = house.engine.begin(specOf(chat("x", false)), log).value();
  for (int step = 0; step < 5; ++step) ASSERT_TRUE(house.engine.step());
  generation->cancel();
  while (house.engine.step()) {
  }
  EXPECT_EQ(generation->ended()->reason, EndReason::Cancelled);
  EXPECT_EQ(toldBy(log).ends, 1);
  EXPECT_TRUE(house.engine.begin(specOf(chat("y", false)), log).ok()) << "the one sequence is free again";
}

TEST(Driver, ACancelReachesAForwardUnderWay) {
  House house(R"([{"text": "one", "then": "stall"}])");
  MemoryEventLog log(16, 16);
  std::atomic<bool> wish{false};
  GenerationSpec spec = specOf(chat("x", false));
  spec.cancel = &wish;
  const auto generation = house.engine.begin(std::move(spec), log).value();
  ASSERT_TRUE(house.engine.step());
  wish = true;  // the next forward stalls until it is cancelled
  while (house.engine.step()) {
  }
  EXPECT_EQ(generation->ended()->reason, EndReason::Cancelled);
}

TEST(Driver, PromptProgressRises_AndEndsAtThePrompt) {
  House house(R"([{"text": "x"}])", 1, 3);
  MemoryEventLog log(16, 16);
  const auto generation = house.engine.begin(specOf(chat("a prompt of several tokens", false)), log).value();
  while (house.engine.step()) {
  }
  std::vector<Event> events;
  log.read(0, events);
  double last = 0;
  for (const Event& e : events) {
    if (e.kind != Event::Kind::PromptProgress) continue;
    EXPECT_GT(e.done, last);
    last = e.done;
    EXPECT_EQ(e.total, double(generation->usage().prompt_tokens));
  }
  EXPECT_EQ(last, double(generation->usage().prompt_tokens));
}

TEST(MemoryEventLog, AnyNumberOfCursorsReadAtTheirOwnPace) {
  MemoryEventLog log(1, 1);
  for (const char* text : {"one", "two", "three"}) {
    Event event;
    event.kind = Event::Kind::Text;
    event.text = text;
    ASSERT_TRUE(log.append(event).ok());
  }
  std::vector<Event> all, late;
  EXPECT_EQ(log.read(0, all), 3u);
  EXPECT_EQ(log.read(2, late), 3u);
  ASSERT_EQ(all.size(), 3u);
  ASSERT_EQ(late.size(), 1u);
  EXPECT_EQ(all[1].text, "two");
  EXPECT_EQ(late[0].text, "three");
  EXPECT_EQ(log.read(3, late), 3u);
  EXPECT_EQ(late.size(), 1u);
}

}  // namespace
}  // namespace sluice
