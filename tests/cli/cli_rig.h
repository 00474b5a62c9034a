#pragma once
// Runs the built programs on models of tests/models.

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "core/base/file.h"
#include "tests/support/command.h"
#include "tests/support/temp_dir.h"

namespace sluice {

using Json = nlohmann::ordered_json;
using Args = std::vector<std::string>;

inline std::string modelPath(const std::string& name) { return std::string(SLUICE_TEST_DATA) + "/models/" + name; }
inline std::string nano() { return modelPath("nano-gs64"); }

/// One program, with a state and config directory of its own.
class CliRig {
 public:
  explicit CliRig(std::string program = std::string(SLUICE_BINARY_DIR) + "/cli/sluice") : program_(std::move(program)) {}
  static CliRig scripted() { return CliRig(std::string(SLUICE_BINARY_DIR) + "/tests/programs/sluice-scripted"); }
  static CliRig faulty() { return CliRig(std::string(SLUICE_BINARY_DIR) + "/tests/programs/sluice-faulty"); }

  CommandOutput run(const Args& args, const std::string& input = "", const Args& before = {}) const {
    Args argv = before;
    argv.push_back(program_);
    argv.insert(argv.end(), args.begin(), args.end());
    // One thread unless the test says otherwise: teams wait for each other where several tests share two processors.
    const bool computes = !args.empty() && (args[0] == "run" || args[0] == "chat" || args[0] == "demo" || args[0] == "trace" || args[0] == "score");
    if (computes && std::find(args.begin(), args.end(), "--threads") == args.end() && std::find(args.begin(), args.end(), "--help") == args.end()) argv.insert(argv.end(), {"--threads", "1"});
    CommandSetting setting;
    setting.input = input;
    setting.environment = {{"XDG_STATE_HOME", (dir_->path() / "state").string()}, {"XDG_CONFIG_HOME", (dir_->path() / "config").string()}, {"HOME", dir_->path().string()}};
    Result<CommandOutput> out = runCommand(argv, setting);
    EXPECT_TRUE(out.ok());
    return std::move(out).value();
  }
  /// The same with --json: the one document on stdout.
  Json json(Args args, int exit_code = 0) const {
    args.push_back("--json");
    const CommandOutput out = run(args);
    EXPECT_EQ(out.exit_code, exit_code) << out.err;
    Json parsed = Json::parse(out.out, nullptr, false);
    EXPECT_FALSE(parsed.is_discarded()) << "stdout is not one JSON document: " << out.out;
    return parsed;
  }
  std::filesystem::path file(const std::string& name, const std::string& text) const {
    const std::filesystem::path path = dir_->path() / name;
    std::ofstream(path, std::ios::binary) << text;
    return path;
  }
  std::filesystem::path place(const std::string& name) const { return dir_->path() / name; }
  /// A copy of a model that may be damaged.
  std::filesystem::path copyOf(const std::string& name) const {
    const std::filesystem::path to = dir_->path() / ("copy-of-" + name);
    std::filesystem::remove_all(to);
    std::filesystem::copy(modelPath(name), to);
    return to;
  }

 private:
  std::string program_;
  std::shared_ptr<TempDir> dir_ = std::make_shared<TempDir>();
};

inline std::string idsText(const Json& ids) { return ids.dump(); }

/// Says what was found where: all of `parts` stand in `text`.
inline void expectSays(const std::string& text, const std::vector<std::string>& parts) {
  for (const std::string& part : parts) EXPECT_NE(text.find(part), std::string::npos) << "'" << part << "' is not in: " << text;
}

}  // namespace sluice
