// Goal: what the program says about itself, about models, about files and about its options.

#include <chrono>
#include <csignal>
#include <thread>

#include "cli/exit_code.h"
#include "cli/options.h"
#include "cli/progress.h"
#include "cli/signals.h"
#include "tests/cli/cli_rig.h"

namespace sluice {
namespace {

TEST(Version, NamesVersionCommitInstructionSetsAndCompiler) {
  const Json got = CliRig().json({"version"});
  for (const char* key : {"version", "commit", "isa", "compiler"}) EXPECT_TRUE(got.contains(key)) << key;
  EXPECT_EQ(got["isa"][0], "scalar");
}

TEST(Help, EveryCommandHasOneWithAnExample) {
  const CliRig rig;
  for (const char* command : {"run", "chat", "demo", "trace", "score", "inspect", "verify", "version"}) {
    const CommandOutput out = rig.run({command, "--help"});
    EXPECT_EQ(out.exit_code, 0) << command;
    expectSays(out.out, {"Example", std::string("sluice ") + command});
  }
  EXPECT_EQ(rig.run({"--help"}).exit_code, 0);
  EXPECT_EQ(rig.run({"config", "print", "--help"}).exit_code, 0);
}

TEST(Inspect, SaysWhatAModelIs) {
  const CliRig rig;
  const Json got = rig.json({"inspect", nano()});
  EXPECT_EQ(got["family"], "glm_moe_dsa");
  EXPECT_EQ(got["layers"], 6);
  EXPECT_EQ(got["stop_ids"], Json({2028, 2035, 2037}));
  EXPECT_EQ(got["context"], 8192);
  bool has_experts = false;
  for (const Json& role : got["roles"]) {
    EXPECT_TRUE(role.contains("role") && role.contains("format") && role.contains("bytes"));
    has_experts = has_experts || (role["role"] == "experts" && role["format"] == "int4-g64");
  }
  EXPECT_TRUE(has_experts);
  const auto codes = [&](const Json& document) {
    std::string all;
    for (const Json& w : document["warnings"]) all += w["code"].get<std::string>() + " ";
    return all;
  };
  EXPECT_EQ(codes(got).find("template_missing"), std::string::npos);
  expectSays(codes(rig.json({"inspect", modelPath("coli-i4")})), {"per_row_int4"});
  expectSays(codes(rig.json({"inspect", modelPath("glm")})), {"template_missing"});
  const auto copy = rig.copyOf("nano-gs64");
  std::filesystem::remove(copy / "out-idx-00000.safetensors");
  std::filesystem::remove(copy / "out-mtp-00000.safetensors");
  expectSays(codes(rig.json({"inspect", copy.string()})), {"indexer_missing", "mtp_missing"});
}

TEST(Verify, WritesSums_FindsOneFlippedBit_AndReadsCheckIt) {
  const CliRig rig;
  const auto model = rig.copyOf("nano-gs64");
  const Json first = rig.json({"verify", model.string(), "--write"});
  EXPECT_TRUE(first["ok"]);
  EXPECT_EQ(first["bad"], Json::array());
  ASSERT_TRUE(first["written"].is_string());
  EXPECT_TRUE(std::filesystem::exists(first["written"].get<std::string>()));
  EXPECT_TRUE(rig.json({"verify", model.string()})["compared"].get<bool>());
  EXPECT_EQ(rig.json({"run", model.string(), "-p", "2+2 = ?", "--temperature", "0"})["text"], "2+2=4");

  // The last bytes of the file are data; a file's size stays, its contents do not.
  const auto shard = model / "out-00000.safetensors";
  std::string bytes = readWholeFile(shard, 1_GiB).value();
  bytes[bytes.size() / 2] = char(bytes[bytes.size() / 2] ^ 1);
  std::ofstream(shard, std::ios::binary) << bytes;
  const Json bad = rig.json({"verify", model.string()}, 3);
  EXPECT_FALSE(bad["ok"].get<bool>());
  ASSERT_EQ(bad["bad"].size(), 1u);
  expectSays(bad["bad"][0]["file"], {"out-00000.safetensors"});
}

TEST(Verify, AFullDiskIsAnErrorAndLeavesNothing) {
  const CliRig rig = CliRig::faulty();
  const CommandOutput out = rig.run({"verify", nano(), "--write", "--faults", "enospc_after=10", "--state-dir", rig.place("s").string()});
  EXPECT_EQ(out.exit_code, 5) << out.err;
  EXPECT_TRUE(std::filesystem::is_empty(rig.place("s")));
}

TEST(Config, FlagsWinOverTheFile_TheFileOverDefaults) {
  const CliRig rig;
  std::filesystem::create_directories(rig.place("config") / "sluice");
  rig.file("config/sluice/config.toml", "temperature = 0\nn = 5\ntop_p = 0.5\n");
  const Json got = rig.json({"config", "print", "--top-p", "0.25", "--ram", "1GiB"});
  EXPECT_EQ(got["options"]["temperature"]["value"], "0");
  EXPECT_EQ(got["options"]["temperature"]["origin"], "file");
  EXPECT_EQ(got["options"]["top-p"]["value"], "0.25");
  EXPECT_EQ(got["options"]["top-p"]["origin"], "flag");
  EXPECT_EQ(got["options"]["ram"]["origin"], "flag");
  EXPECT_EQ(got["options"]["min-p"]["origin"], "default");
  const Json ran = rig.json({"run", nano(), "-p", "Count from 3 to 25."});
  EXPECT_EQ(ran["usage"]["completion_tokens"], 5);
  EXPECT_EQ(ran["sampling"]["temperature"], 0.0);
  for (const std::string text : {"no-such-flag = 1\n", "temperature = \"warm\"\n", "[run]\nn = 5\n", "= =\n"}) {
    const CommandOutput out = rig.run({"run", nano(), "-p", "x", "--config", rig.file("bad.toml", text).string()});
    EXPECT_EQ(out.exit_code, 2) << text << out.err;
  }
}

TEST(Sizes, TakeKiBMiBGiB) {
  EXPECT_EQ(parseSize("4096").value(), Bytes(4096));
  EXPECT_EQ(parseSize("4KiB").value(), 4_KiB);
  EXPECT_EQ(parseSize("1.5MiB").value(), Bytes(1572864));
  EXPECT_EQ(parseSize("96GiB").value(), 96_GiB);
  EXPECT_EQ(parseSize("96 GiB").value(), 96_GiB);
  for (const char* bad : {"", "GiB", "4GB", "-1", "1e30GiB", "4 KiB MiB", "nan", "inf"}) EXPECT_FALSE(parseSize(bad).ok()) << bad;
}

TEST(ExitCodes, FollowTheTable) {
  EXPECT_EQ(int(exitCodeOf(Errc::BadRequest)), 2);
  EXPECT_EQ(int(exitCodeOf(Errc::NotFound)), 3);
  EXPECT_EQ(int(exitCodeOf(Errc::Corrupt)), 3);
  EXPECT_EQ(int(exitCodeOf(Errc::Unsupported)), 3);
  EXPECT_EQ(int(exitCodeOf(Errc::OutOfBudget)), 4);
  EXPECT_EQ(int(exitCodeOf(Errc::Io)), 5);
  EXPECT_EQ(int(exitCodeOf(Errc::Numeric)), 6);
  EXPECT_EQ(int(exitCodeOf(Errc::Cancelled)), 130);
  EXPECT_EQ(int(exitCodeOf(EndReason::MaxTokens, Errc::Io)), 0);
  EXPECT_EQ(int(exitCodeOf(EndReason::Cancelled, Errc::Io)), 130);
  EXPECT_EQ(int(exitCodeOf(EndReason::Error, Errc::Io)), 5);
}

TEST(Interrupt, TwoSignalsOfOnePressAsk_ASecondPressLeavesAtOnce) {
  InterruptGuard guard;
  EXPECT_FALSE(guard.interrupted());
  raise(SIGINT);
  raise(SIGINT);
  raise(SIGTERM);
  EXPECT_TRUE(guard.interrupted());
  guard.clear();
  EXPECT_FALSE(guard.interrupted());
  testing::GTEST_FLAG(death_test_style) = "threadsafe";
  EXPECT_EXIT(
      {
        InterruptGuard one;
        raise(SIGINT);
        std::this_thread::sleep_for(std::chrono::milliseconds(400));
        raise(SIGINT);
      },
      testing::ExitedWithCode(130), "");
}

TEST(Progress, SaysRateAndTimeLeft) {
  using namespace std::chrono_literals;
  EXPECT_EQ(Progress::line("reading the prompt", 250, 1000, "tokens", 5s), "reading the prompt: 250 of 1000 tokens (25 %), 50.0 tokens/s, 15 s left");
  EXPECT_EQ(Progress::line("loading the weights", double(1u << 30), double(4ull << 30), "bytes", 2s),
            "loading the weights: 1.00 GiB of 4.00 GiB (25 %), 512.0 MiB/s, 6 s left");
}

}  // namespace
}  // namespace sluice
