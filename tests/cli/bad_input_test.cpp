// Goal:   each kind of bad input says which thing, where, the numbers and the cure, and exits with its own code.
// Method: the built program over damaged copies of small models.

#include <chrono>
#include <thread>

#include "tests/cli/cli_rig.h"

namespace sluice {
namespace {

constexpr int kUsage = 2, kModel = 3, kMemory = 4;

class BadInput : public testing::Test {
 protected:
  std::string ids() { return rig.file("ids.json", "[1, 2, 3]").string(); }
  CommandOutput runOn(const std::filesystem::path& model, Args more = {}) {
    Args args{"run", model.string(), "--ids-file", ids(), "-n", "2", "--temperature", "0"};
    args.insert(args.end(), more.begin(), more.end());
    return rig.run(args);
  }
  CliRig rig;
};

TEST_F(BadInput, TheUndamagedCopyRuns) { EXPECT_EQ(runOn(rig.copyOf("glm-sharded-f32")).exit_code, 0); }

TEST_F(BadInput, MissingShard) {
  const auto model = rig.copyOf("glm-sharded-f32");
  std::filesystem::remove(model / "model-00002-of-00004.safetensors");
  const CommandOutput out = runOn(model);
  EXPECT_EQ(out.exit_code, kModel);
  EXPECT_EQ(out.out, "");
  expectSays(out.err, {"model-00002-of-00004.safetensors"});
}

TEST_F(BadInput, TruncatedShard) {
  const auto model = rig.copyOf("glm-sharded-f32");
  const auto shard = model / "model-00003-of-00004.safetensors";
  const auto size = std::filesystem::file_size(shard);
  std::uint64_t header = 0;
  std::ifstream(shard, std::ios::binary).read(reinterpret_cast<char*>(&header), sizeof header);
  const std::uint64_t data = size - sizeof header - header;
  std::filesystem::resize_file(shard, size - 100);
  const CommandOutput out = runOn(model);
  EXPECT_EQ(out.exit_code, kModel);
  expectSays(out.err, {"model-00003-of-00004.safetensors", std::to_string(data), std::to_string(data - 100), "truncated"});
}

TEST_F(BadInput, WrongByteCount) {
  const auto model = rig.copyOf("glm-sharded-f32");
  const auto shard = model / "model-00001-of-00004.safetensors";
  std::ofstream(shard, std::ios::binary | std::ios::app) << "sixteen more byte";
  const CommandOutput out = runOn(model);
  EXPECT_EQ(out.exit_code, kModel);
  expectSays(out.err, {"model-00001-of-00004.safetensors"});
}

TEST_F(BadInput, UnknownArchitecture) {
  const auto model = rig.copyOf("glm");
  Json config = Json::parse(std::ifstream(model / "config.json"));
  config["model_type"] = "warp_drive";
  config["architectures"] = {"WarpDriveForCausalLM"};
  std::ofstream(model / "config.json") << config.dump();
  const CommandOutput out = runOn(model);
  EXPECT_EQ(out.exit_code, kModel);
  expectSays(out.err, {"warp_drive"});
}

TEST_F(BadInput, NoSuchDirectory) {
  const CommandOutput out = runOn(rig.place("nowhere"));
  EXPECT_EQ(out.exit_code, kModel);
  expectSays(out.err, {"nowhere"});
}

TEST_F(BadInput, AChatWithoutATemplate) {
  const auto model = rig.copyOf("nano-gs64");
  std::filesystem::remove(model / "chat_template.jinja");
  for (const Args& args : {Args{"run", model.string(), "-p", "hi"}, Args{"chat", model.string()}}) {
    const CommandOutput out = rig.run(args);
    EXPECT_EQ(out.exit_code, kModel) << args[0];
    expectSays(out.err, {"template", "--prompt"});
  }
  EXPECT_EQ(rig.run({"run", model.string(), "--prompt", rig.file("raw.txt", "hi").string(), "-n", "2"}).exit_code, 0);
}

TEST_F(BadInput, APromptLongerThanTheContext) {
  std::string many = "[1";
  for (int i = 0; i < 99; ++i) many += ", 1";
  const CommandOutput out = rig.run({"run", nano(), "--ids-file", rig.file("many.json", many + "]").string(), "--context", "64"});
  EXPECT_EQ(out.exit_code, kUsage);
  expectSays(out.err, {"100 tokens", "64", "--context"});
}

TEST_F(BadInput, AContextLongerThanTheModels) {
  const CommandOutput out = runOn(nano(), {"--context", "9000"});
  EXPECT_EQ(out.exit_code, kUsage);
  expectSays(out.err, {"9000", "8192"});
}

TEST_F(BadInput, ABudgetTooSmall) {
  const CommandOutput out = runOn(nano(), {"--ram", "1MiB"});
  EXPECT_EQ(out.exit_code, kMemory);
  expectSays(out.err, {"--ram", "resident weights", "kv", "activations"});
}

TEST_F(BadInput, ACacheThatCannotHoldOneToken) {
  const CommandOutput out = runOn(nano(), {"--cache-experts", "7"});
  EXPECT_EQ(out.exit_code, kUsage);
  expectSays(out.err, {"7", "8", "--cache-experts"});
}

TEST_F(BadInput, IdsThatAreNoIds) {
  for (const std::string text : {"[1, 2", "{}", "[1, -1]", "[1, 2.5]", "[\"a\"]", "[1, 99999]", "[]"}) {
    const CommandOutput out = rig.run({"run", nano(), "--ids-file", rig.file("bad.json", text).string()});
    EXPECT_EQ(out.exit_code, kUsage) << text << out.err;
    const CommandOutput traced = rig.run({"trace", nano(), "--ids-file", rig.file("bad.json", text).string(), "--out", rig.place("o.safetensors").string()});
    EXPECT_EQ(traced.exit_code, kUsage) << text << traced.err;
    EXPECT_FALSE(std::filesystem::exists(rig.place("o.safetensors")));
  }
  EXPECT_EQ(rig.run({"run", nano(), "--ids-file", rig.place("absent.json").string()}).exit_code, kUsage);
}

TEST_F(BadInput, FlagsThatDoNotExistOrMakeNoSense_AreUsageErrors) {
  for (const Args& more : {Args{"--no-such-flag"}, Args{"--repetition-penalty", "1.1"}, Args{"--thinking-budget", "5"}, Args{"--json-schema", "x"}, Args{"--mtp-chain", "1,2"},
                           Args{"--temperature", "-1"}, Args{"--temperature", "warm"}, Args{"--top-p", "1.5"}, Args{"--min-p", "-0.1"}, Args{"--top-k", "-2"}, Args{"--isa", "mmx"},
                           Args{"--io", "carrier-pigeon"}, Args{"--ram", "lots"}, Args{"--ram", "0"}, Args{"--kv", "i3"}, Args{"--activations", "12"}, Args{"--threads", "0"},
                           Args{"--exact", "--activations", "8"}, Args{"--exact", "--kv", "bf16"}, Args{"-n", "0"}, Args{"-n", "-2"}, Args{"--stop", ""}, Args{"-p", "and a text"},
                           Args{"--read-depth", "0"}}) {
    const CommandOutput out = runOn(nano(), more);
    EXPECT_EQ(out.exit_code, kUsage) << more[0] << ' ' << (more.size() > 1 ? more[1] : "") << ": " << out.err;
    EXPECT_EQ(out.out, "");
    EXPECT_FALSE(out.err.empty());
  }
  EXPECT_EQ(rig.run({}).exit_code, kUsage);
  EXPECT_EQ(rig.run({"no-such-command"}).exit_code, kUsage);
  EXPECT_EQ(rig.run({"run", nano()}).exit_code, kUsage);
}

TEST_F(BadInput, MessagesThatAreNoConversation) {
  for (const std::string text : {"[]", "{}", "[1]", "[{\"content\": \"no role\"}]", "nonsense", "[{\"role\": \"wizard\", \"content\": \"x\"}]"}) {
    const CommandOutput out = rig.run({"run", nano(), "--messages", rig.file("bad.json", text).string()});
    EXPECT_EQ(out.exit_code, kUsage) << text << ": " << out.err;
    EXPECT_EQ(out.out, "");
  }
  for (const std::string kwargs : {"[]", "{", "1"}) EXPECT_EQ(rig.run({"run", nano(), "-p", "x", "--template-kwargs", kwargs}).exit_code, kUsage) << kwargs;
}

TEST_F(BadInput, AModelFileReplacedWhileRunning_IsNoticedAndNamed) {
  const CliRig faulty = CliRig::faulty();
  const auto model = rig.copyOf("nano-gs64");
  std::filesystem::copy_file(model / "out-00000.safetensors", rig.place("other"));
  CommandOutput out;
  std::thread running([&] {
    out = faulty.run({"run", model.string(), "-p", "Count by 5 from 10, 12 numbers.", "--temperature", "0", "--cache-experts", "8", "--faults", "delay=1:20ms"});
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(1500));
  std::filesystem::rename(rig.place("other"), model / "out-00000.safetensors");
  running.join();
  EXPECT_TRUE(out.exit_code == kModel || out.exit_code == 5) << out.exit_code << out.err;
  expectSays(out.err, {"out-00000.safetensors", "ended: error"});
}

}  // namespace
}  // namespace sluice
