// Goal:   answers stop where they are told to, by strings, by limits and by people; conversations survive it.
// Method: the command line over a scripted model, so that what the model says is written down here; coreutils' timeout presses Ctrl-C.

#include <set>

#include "tests/cli/cli_rig.h"

namespace sluice {
namespace {

class Scripted : public testing::Test {
 protected:
  Args args(const std::string& command, const std::string& script, Args more) {
    Args all{command, nano(), "--script", rig.file("script.json", script).string()};
    all.insert(all.end(), more.begin(), more.end());
    return all;
  }
  CliRig rig = CliRig::scripted();
};

TEST_F(Scripted, StopStringsSleepInReasoning) {
  const Json got = rig.json(args("run", R"([{"text": "a STOP b</think>c STOP d"}])", {"-p", "x", "--temperature", "0", "--stop", "STOP", "--stop", "never"}));
  EXPECT_EQ(got["text"], "c ");
  EXPECT_EQ(got["reasoning"], "a STOP b");
  EXPECT_EQ(got["end"]["reason"], "stop_sequence");
  EXPECT_EQ(got["end"]["detail"], "STOP");
}

TEST_F(Scripted, ReasoningThatNeverClosesIsNeverShownAsContent) {
  const Json got = rig.json(args("run", R"([{"text": "Wait, ", "then": "repeat"}])", {"-p", "x", "--temperature", "0", "-n", "50"}));
  EXPECT_EQ(got["text"], "");
  EXPECT_NE(got["reasoning"], "");
  EXPECT_EQ(got["end"]["reason"], "max_tokens");
  EXPECT_EQ(got["usage"]["reasoning_tokens"], 50);
}

TEST_F(Scripted, CtrlCEndsCleanly_WithAReportAndExit130) {
  const std::string script = R"([{"text": "on and on ", "then": "repeat", "step_ms": 20}])";
  const Args press{"timeout", "--preserve-status", "-s", "INT", "1"};
  const CommandOutput out = rig.run(args("run", script, {"-p", "x", "--no-think", "--temperature", "0", "-n", "100000", "--context", "200000"}), "", press);
  EXPECT_EQ(out.exit_code, 130) << out.err;
  expectSays(out.err, {"ended: cancelled", "tokens:"});
  expectSays(out.out, {"on and on"});
  const CommandOutput json = rig.run(args("run", script, {"-p", "x", "--json", "--temperature", "0", "-n", "100000", "--context", "200000"}), "", press);
  EXPECT_EQ(json.exit_code, 130);
  EXPECT_EQ(Json::parse(json.out)["end"]["reason"], "cancelled");
}

TEST_F(Scripted, CtrlCReachesAPromptThatIsBeingRead) {
  const Args press{"timeout", "--preserve-status", "-s", "INT", "1"};
  const CommandOutput out = rig.run(args("run", R"([{"text": "x", "prefill_ms": 60000}])", {"-p", "x"}), "", press);
  EXPECT_EQ(out.exit_code, 130) << out.err;
  expectSays(out.err, {"ended: cancelled"});
}

TEST_F(Scripted, NanEndsInAnErrorAndExit6) {
  const CommandOutput out = rig.run(args("run", R"([{"text": "fine so far", "nan_at": 2}])", {"-p", "x", "--no-think"}));
  EXPECT_EQ(out.exit_code, 6);
  expectSays(out.err, {"ended: error", "position"});
}

TEST_F(Scripted, ExitRankPutsTheExitWhereItSays) {
  // With the exit at rank 1 and top_k 2 a hot draw takes it sooner or later; at rank 5 it never can.
  const Args hot{"-p", "x", "--no-think", "--temperature", "100", "--top-k", "2", "--seed", "1", "-n", "40"};
  EXPECT_EQ(rig.json(args("run", R"([{"text": "word ", "then": "repeat", "exit_rank": 1}])", hot))["end"]["reason"], "eos");
  EXPECT_EQ(rig.json(args("run", R"([{"text": "word ", "then": "repeat", "exit_rank": 5}])", hot))["end"]["reason"], "max_tokens");
}

TEST_F(Scripted, SpewIsEverNew) {
  const Json got = rig.json(args("run", R"([{"then": "spew"}])", {"-p", "x", "--no-think", "--temperature", "0", "-n", "64"}));
  EXPECT_GT(std::set<int>(got["ids"].begin(), got["ids"].end()).size(), 50u);
}

TEST_F(Scripted, ScriptsThatMakeNoSenseAreUsageErrors) {
  for (const std::string script : {"{", "{}", "[1]", R"([{"txet": "x"}])", R"([{"then": "explode"}])", R"([{"then": "repeat"}])"})
    EXPECT_EQ(rig.run(args("run", script, {"-p", "x"})).exit_code, 2) << script;
  EXPECT_EQ(rig.run({"run", nano(), "-p", "x"}).exit_code, 2) << "--script is required";
}

TEST_F(Scripted, ChatKeepsTheConversation_AndObeysItsCommands) {
  const std::string script = R"([{"match": {"prompt_contains": "My name is Ada"}, "text": "</think>Hello Ada."}, {"text": "</think>Who are you?"}])";
  const CommandOutput out = rig.run(args("chat", script, {"--temperature", "0"}), "My name is Ada\nWhat now?\n/help\n/reset\nWhat now?\n/nonsense\n/quit\nnever read\n");
  EXPECT_EQ(out.exit_code, 0) << out.err;
  // The second turn's prompt holds the first; after /reset it does not.
  const std::size_t first = out.out.find("Hello Ada."), second = out.out.find("Hello Ada.", first + 1), stranger = out.out.find("Who are you?");
  ASSERT_NE(first, std::string::npos);
  ASSERT_NE(second, std::string::npos);
  ASSERT_NE(stranger, std::string::npos);
  EXPECT_LT(second, stranger);
  EXPECT_EQ(out.out.find("Who are you?", stranger + 1), std::string::npos) << "nothing is read behind /quit";
  expectSays(out.out, {"/help", "/reset", "There is no /nonsense"});
}

TEST_F(Scripted, ChatTellsOfACut_AndGoesOn) {
  const std::string script = R"([{"match": {"prompt_contains": "second"}, "text": "</think>fine"}, {"text": "</think>long ", "then": "repeat"}])";
  const CommandOutput out = rig.run(args("chat", script, {"--temperature", "0", "-n", "20"}), "first\nsecond\n");
  EXPECT_EQ(out.exit_code, 0);
  expectSays(out.err, {"max_tokens"});
  expectSays(out.out, {"fine"});
}

TEST_F(Scripted, ChatTakesBackAMessageThatDoesNotFit) {
  std::string long_line;
  for (int i = 0; i < 200; ++i) long_line += "word ";
  const CommandOutput out = rig.run(args("chat", R"([{"text": "</think>ok"}])", {"--context", "64"}), long_line + "\nshort\n");
  EXPECT_EQ(out.exit_code, 0) << out.err;
  expectSays(out.err, {"context"});
  expectSays(out.out, {"ok"});
}

}  // namespace
}  // namespace sluice
