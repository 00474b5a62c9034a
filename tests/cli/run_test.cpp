// Goal:   the program answers as the reference does, from a cache of an eighth of the experts, and says everything that it promises to say.
// Method: questions.json of the bundled model (the reference's greedy answers); documents compared key by key with docs and with each other.

#include <xxhash.h>

#include <set>

#include <fmt/format.h>

#include "tests/cli/cli_rig.h"

namespace sluice {
namespace {

Json questions() { return Json::parse(std::ifstream(nano() + "/questions.json")); }

/// The reference's text without its last id's, cut at the close tag.
struct Expected {
  std::string reasoning, text;
};
Expected expectedOf(const Json& row) {
  std::string text = row["text"];
  const std::string end = "<|user|>", close = "</think>";
  if (text.ends_with(end)) text.resize(text.size() - end.size());
  const std::size_t at = text.find(close);
  if (at == std::string::npos) return {"", text};
  return {text.substr(0, at), text.substr(at + close.size())};
}

Args askArgs(const Json& row) {
  Args args{"run", nano(), "-p", row["question"], "--temperature", "0", "--cache-experts", "20", "-n", "400", "--threads", "1"};
  if (row["effort"] == "off") args.push_back("--no-think");
  return args;
}

void expectAnswers(const CliRig& rig, const Json& row) {
  SCOPED_TRACE(row["question"].get<std::string>() + ", thinking " + row["effort"].get<std::string>());
  const Json got = rig.json(askArgs(row));
  const Expected want = expectedOf(row);
  EXPECT_EQ(got["ids"], row["ids"]);
  EXPECT_EQ(got["text"], want.text);
  EXPECT_EQ(got["reasoning"], want.reasoning);
  EXPECT_EQ(got["end"]["reason"], "eos");
  EXPECT_EQ(got["usage"]["prompt_tokens"], row["prompt_ids"].size());
  EXPECT_EQ(got["usage"]["completion_tokens"], row["ids"].size());
  EXPECT_GT(got["stats"]["io"]["bytes_read"], 0);
  EXPECT_GT(got["stats"]["cache"]["misses"], 0);
  EXPECT_EQ(got["stats"]["cache"]["slots"], 20);
}

TEST(RunQuestions, AFewAnswersAreTheReferences) {
  const CliRig rig;
  const Json rows = questions();
  for (const std::size_t i : {std::size_t(0), std::size_t(6), std::size_t(16), std::size_t(26), std::size_t(45)}) {
    ASSERT_GE(rows[i]["min_margin"], 0.3);
    expectAnswers(rig, rows[i]);
  }
}

TEST(RunQuestionsAll, EveryAnswerWithAClearMarginIsTheReferences) {
  const CliRig rig;
  int compared = 0;
  for (const Json& row : questions()) {
    if (row["min_margin"] < 0.3) continue;
    expectAnswers(rig, row);
    ++compared;
  }
  EXPECT_EQ(compared, 33);  // rows of questions.json with min_margin >= 0.3, counted apart
}

TEST(Run, TheDocumentHasEveryKeyOfTheContract) {
  const CliRig rig;
  const Json got = rig.json({"run", nano(), "-p", "2+2 = ?", "--temperature", "0", "--seed", "7"});
  for (const char* key : {"ids", "text", "reasoning", "tool_calls", "end", "usage", "sampling", "ignored", "warnings", "stats", "fingerprint", "text_xxh3"})
    EXPECT_TRUE(got.contains(key)) << key;
  EXPECT_EQ(got["tool_calls"], Json::array());
  EXPECT_EQ(got["ignored"], Json::array());
  EXPECT_EQ(got["stop"]["ids"], Json({2028, 2035, 2037}));
  EXPECT_EQ(got["end"]["detail"], "token 2035");
  EXPECT_EQ(got["usage"]["total_tokens"], got["usage"]["prompt_tokens"].get<int>() + got["usage"]["completion_tokens"].get<int>());
  // "2 plus 2 is 4." and its closing tag: nine ids of the reference's fifteen.
  EXPECT_EQ(got["usage"]["reasoning_tokens"], 9);
  EXPECT_EQ(got["sampling"]["temperature"], 0.0);
  EXPECT_EQ(got["sampling"]["seed"], 7);
  EXPECT_EQ(got["sampling"]["top_p"], 0.95) << "what the model's generation_config.json says";
  const Json& stats = got["stats"];
  for (const char* key : {"prefill", "decode", "cache", "io", "memory", "draft"}) EXPECT_TRUE(stats.contains(key)) << key;
  EXPECT_EQ(stats["prefill"]["tokens"], 16);
  EXPECT_GT(stats["prefill"]["seconds"], 0.0);
  EXPECT_EQ(stats["draft"]["mode"], "off");
  EXPECT_GT(stats["memory"]["rss_peak"], 0);
  const std::string text = got["text"];
  EXPECT_EQ(got["text_xxh3"], fmt::format("{:016x}", XXH3_64bits(text.data(), text.size())));
}

TEST(Run, StdoutIsTheTextAlone_TheReportIsOnStderr) {
  const CliRig rig;
  const CommandOutput out = rig.run({"run", nano(), "-p", "2+2 = ?", "--temperature", "0"});
  EXPECT_EQ(out.exit_code, 0);
  EXPECT_EQ(out.out, "2+2=4\n");
  expectSays(out.err, {"2 plus 2 is 4.", "ended: eos (token 2035)", "hit rate", "memory:", "greedy"});
}

TEST(Run, MessagesGoThroughTheTemplate) {
  const CliRig rig;
  const std::string one = R"([{"role": "user", "content": "Capital of Japan?"}])";
  const Json plain = rig.json({"run", nano(), "--messages", rig.file("m.json", one).string(), "--temperature", "0"});
  EXPECT_EQ(plain["text"], "The capital of Japan is Tokyo.");
  const Json wrapped = rig.json({"run", nano(), "--messages", rig.file("w.json", R"({"messages": )" + one + "}").string(), "--temperature", "0", "--no-think"});
  EXPECT_EQ(wrapped["text"], "The capital of Japan is Tokyo.");
  EXPECT_EQ(wrapped["reasoning"], "");
  const Json kwargs = rig.json({"run", nano(), "-p", "Capital of Japan?", "--temperature", "0", "--template-kwargs", R"({"enable_thinking": false})"});
  EXPECT_EQ(kwargs["ids"], wrapped["ids"]);
  EXPECT_NE(kwargs["ids"], plain["ids"]) << "negative control: thinking on says more";
  const CommandOutput piped = rig.run({"run", nano(), "--messages", "-", "--temperature", "0"}, one);
  EXPECT_EQ(piped.out, "The capital of Japan is Tokyo.\n");
}

TEST(Run, IdsThatOpenAThinkBlockBeginInReasoning) {
  const CliRig rig;
  const Json row = questions()[0];
  const Json got = rig.json({"run", nano(), "--ids-file", rig.file("ids.json", idsText(row["prompt_ids"])).string(), "--temperature", "0"});
  EXPECT_EQ(got["ids"], row["ids"]);
  EXPECT_EQ(got["reasoning"], "2 plus 2 is 4.");
  EXPECT_EQ(got["text"], "2+2=4");
}

TEST(Run, ARawPromptMayHoldControlTokens_AUsersMessageMayNot) {
  const CliRig rig;
  const Json row = questions()[0];
  const std::string prompt = row["prompt"];
  const Json raw = rig.json({"run", nano(), "--prompt", rig.file("p.txt", prompt).string(), "--temperature", "0"});
  EXPECT_EQ(raw["usage"]["prompt_tokens"], row["prompt_ids"].size());
  EXPECT_EQ(raw["ids"], row["ids"]);
  const Json said = rig.json({"run", nano(), "-p", "<|user|></think>", "--temperature", "0", "-n", "1"});
  const Json control = rig.json({"run", nano(), "-p", "x", "--temperature", "0", "-n", "1"});
  EXPECT_GT(said["usage"]["prompt_tokens"].get<int>(), control["usage"]["prompt_tokens"].get<int>() + 4) << "spelled out, not two control tokens";
}

TEST(Run, SameSeedSameText_WithoutOneItIsRandomAndPrinted) {
  const CliRig rig;
  const Args ask{"run", nano(), "-p", "Write a guide to ships with 3 sections.", "-n", "40", "--temperature", "1.5", "--top-p", "1"};
  const auto with = [&](Args more) {
    Args args = ask;
    args.insert(args.end(), more.begin(), more.end());
    return rig.json(args);
  };
  const Json a = with({"--seed", "11"}), b = with({"--seed", "11"}), c = with({"--seed", "12"});
  EXPECT_EQ(a["ids"], b["ids"]);
  EXPECT_EQ(a["fingerprint"], b["fingerprint"]);
  EXPECT_NE(a["ids"], c["ids"]);
  EXPECT_NE(a["fingerprint"], c["fingerprint"]);
  const Json d = with({}), e = with({});
  EXPECT_NE(d["sampling"]["seed"], e["sampling"]["seed"]);
  EXPECT_EQ(with({"--seed", d["sampling"]["seed"].dump()})["ids"], d["ids"]);
}

TEST(Run, EndsAtTheLimit_AndSaysWhoSetIt) {
  const CliRig rig;
  const Json got = rig.json({"run", nano(), "-p", "2+2 = ?", "--temperature", "0", "-n", "3"});
  EXPECT_EQ(got["end"]["reason"], "max_tokens");
  expectSays(got["end"]["detail"], {"3 tokens", "-n"});
  EXPECT_EQ(got["usage"]["completion_tokens"], 3);
  const Json full = rig.json({"run", nano(), "-p", "Count by 5 from 10, 12 numbers.", "--temperature", "0", "-n", "-1", "--context", "64"});
  EXPECT_EQ(full["end"]["reason"], "context_full");
  EXPECT_EQ(full["usage"]["total_tokens"], 64);
}

TEST(Run, RoutesAreTraced_OneLineATokenAndLayer) {
  const CliRig rig;
  const std::string file = rig.place("routes.jsonl").string();
  const Json got = rig.json({"run", nano(), "-p", "2+2 = ?", "--temperature", "0", "--trace-routes", file});
  const int computed = got["usage"]["total_tokens"].get<int>() - 1;  // the last id is never computed
  std::ifstream lines(file);
  std::string line;
  std::set<std::pair<int, int>> seen;
  while (std::getline(lines, line)) {
    const Json row = Json::parse(line);
    EXPECT_EQ(row["ids"].size(), 4u);
    EXPECT_EQ(row["weights"].size(), 4u);
    EXPECT_GE(row["margin"], 0.0);
    EXPECT_TRUE(seen.emplace(row["pos"].get<int>(), row["layer"].get<int>()).second) << line;
  }
  EXPECT_EQ(int(seen.size()), computed * 5) << "layers 1 to 5 are sparse";
  EXPECT_TRUE(seen.contains(std::pair(computed - 1, 5)));
}

TEST(Run, StaysUnderItsBudget_Measured) {
  const CliRig rig;
  for (const std::uint64_t mib : {std::uint64_t(80), std::uint64_t(128)}) {
    const Json got = rig.json({"run", nano(), "-p", "2+2 = ?", "--temperature", "0", "--ram", fmt::format("{}MiB", mib)});
    EXPECT_EQ(got["stats"]["memory"]["budget"], mib << 20);
    EXPECT_LE(got["stats"]["memory"]["rss_peak"], mib << 20);
    EXPECT_EQ(got["text"], "2+2=4");
  }
}

TEST(RunInvariance, NothingButTheModelTheOptionsAndTheSeedMakesTheText) {
  const CliRig rig;
  const Args ask{"run", nano(), "-p", "Give JSON: name Nora, age 41, city Oslo.", "--temperature", "0.8", "--seed", "5", "-n", "60"};
  const auto with = [&](Args more) {
    Args args = ask;
    args.insert(args.end(), more.begin(), more.end());
    return rig.json(args);
  };
  const Json want = with({});
  for (const Args& more : {Args{"--threads", "1"}, Args{"--threads", "2"}, Args{"--cache-experts", "8"}, Args{"--cache-experts", "160"}, Args{"--io", "pread"}, Args{"--isa", "scalar"},
                           Args{"--prefill-rows", "1"}, Args{"--prefill-rows", "7"}, Args{"--prefill-rows", "64"}, Args{"--no-direct"}, Args{"--read-depth", "1"}}) {
    const Json got = with(more);
    EXPECT_EQ(got["ids"], want["ids"]) << more[0] << (more.size() > 1 ? " " + more[1] : "");
    EXPECT_EQ(got["text_xxh3"], want["text_xxh3"]);
    EXPECT_EQ(got["fingerprint"], want["fingerprint"]) << "it names only what can change a text";
  }
  EXPECT_NE(with({"--min-p", "0.9"})["fingerprint"], want["fingerprint"]) << "negative control";
}

TEST(RunInvariance, DelayedReadsChangeTimeOnly) {
  const CliRig rig, faulty = CliRig::faulty();
  const Args ask{"run", nano(), "-p", "2+2 = ?", "--temperature", "0", "--cache-experts", "8"};
  Args delayed = ask;
  delayed.insert(delayed.end(), {"--faults", "seed=3,delay=.1:5ms"});
  EXPECT_EQ(faulty.json(delayed)["ids"], rig.json(ask)["ids"]);
}

TEST(Run, ADiskThatFailsEndsInAnError_WithItsOwnExitCode) {
  const CliRig faulty = CliRig::faulty();
  const CommandOutput out = faulty.run({"run", nano(), "-p", "2+2 = ?", "--temperature", "0", "--cache-experts", "8", "--faults", "eio=1"});
  EXPECT_EQ(out.exit_code, 5) << out.err;
  expectSays(out.err, {"ended: error", "safetensors"});
}

TEST(Run, DenseAttentionIsNamedInEveryAnswer) {
  const CliRig rig;
  const auto model = rig.copyOf("nano-gs64");
  std::filesystem::remove(model / "out-idx-00000.safetensors");
  const Json got = rig.json({"run", model.string(), "-p", "2+2 = ?", "--temperature", "0"});
  bool named = false;
  for (const Json& w : got["warnings"]) named = named || w["code"] == "indexer_missing";
  EXPECT_TRUE(named);
  EXPECT_EQ(got["text"], "2+2=4");
  expectSays(rig.run({"run", model.string(), "-p", "2+2 = ?", "--temperature", "0"}).err, {"indexer_missing", "dense"});
  // Negative control: the whole model warns of nothing of the kind.
  for (const Json& w : rig.json({"run", nano(), "-p", "2+2 = ?", "--temperature", "0"})["warnings"]) EXPECT_NE(w["code"], "indexer_missing");
}

TEST(Demo, StreamsFromDiskAndAnswersTheReferencesText) {
  const CliRig rig;
  const CommandOutput out = rig.run({"demo"});
  EXPECT_EQ(out.exit_code, 0) << out.err;
  Json row;
  for (const Json& r : questions())
    if (r["question"] == "Is Peru a country or a city?" && r["effort"] == "max") row = r;
  ASSERT_GE(row["min_margin"], 0.3);
  EXPECT_EQ(out.out, expectedOf(row).text + "\n");
  expectSays(out.err, {expectedOf(row).reasoning, "tokens/s", "hit rate", "read ", "ended: eos"});
  const Json got = rig.json({"demo"});
  EXPECT_GT(got["stats"]["io"]["bytes_read"], 0);
  EXPECT_GT(got["stats"]["cache"]["misses"], 0);
}

}  // namespace
}  // namespace sluice
