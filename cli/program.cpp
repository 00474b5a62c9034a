#include "cli/program.h"

#include <unistd.h>

#include <cerrno>
#include <clocale>
#include <cstdio>
#include <iostream>

#include <fmt/format.h>

#include "cli/commands.h"
#include "cli/config_file.h"
#include "cli/flags.h"
#include "cli/report_json.h"
#include "core/base/file.h"

namespace sluice {

void note(const Program& program, const std::string& line) {
  std::fprintf(stderr, "%s: %s\n", program.name.c_str(), line.c_str());
  std::fflush(stderr);
}

Result<Done> printJson(const nlohmann::ordered_json& document) {
  const std::string text = dumpJson(document) + "\n";
  if (std::fwrite(text.data(), 1, text.size(), stdout) == text.size() && std::fflush(stdout) == 0) return Done{};
  return Error{Errc::Io, fmt::format("writing to stdout failed: {}", errnoText(errno))};
}

namespace {

using Command = CommandResult (*)(const Invocation&);

/// The command line of one program: options, and what each subcommand does.
class CommandLine {
 public:
  CommandLine(const Program& program, Options& options, std::filesystem::path& config) : program_(program), options_(options) {
    app_.name(program.name);
    app_.description("Runs mixture-of-experts models that are larger than memory: what is always used stays resident, experts are read from disk.");
    app_.require_subcommand(1);
    app_.set_help_flag("-h,--help", "this text");
    app_.add_option("--config", config, "a file of `name = value` lines, one a flag (default: sluice/config.toml of the XDG config directory)")->type_name("FILE");
    app_.fallthrough();
    addRun();
    addConversations();
    addStudies();
    addFiles();
  }

  CLI::App& app() { return app_; }
  Command commandOf(const CLI::App& chosen) const {
    for (const auto& [command, run] : commands_)
      if (command == &chosen) return run;
    return nullptr;
  }
  CLI::App* config() { return config_; }
  CLI::App* configPrint() { return config_print_; }

 private:
  CLI::App& add(const char* name, const char* description, const std::string& example, Command run) {
    CLI::App* command = app_.add_subcommand(name, description);
    command->set_help_flag("-h,--help", "this text");
    command->footer("Example:\n  " + program_.name + " " + example);
    commands_.emplace_back(command, run);
    return *command;
  }
  void bindLoading(CLI::App& command, bool model_required = true) {
    bindModel(command, options_.model, model_required);
    if (program_.bind) program_.bind(command);
  }

  void addRun() {
    CLI::App& run = add("run", "answers one prompt; the text on stdout as it comes, a report on stderr", "run MODEL -p 'What is the capital of France?' -n 200", runCommand);
    bindLoading(run);
    bindPrompt(run, options_.prompt);
    bindAnswer(run, options_.answer);
    run.add_option("--trace-routes", options_.trace_routes, "writes {pos, layer, ids, weights, margin}, one JSON line a token and layer")->type_name("FILE")->group("Files");
    bindJson(run, options_);
  }
  void addConversations() {
    CLI::App& chat = add("chat", "a conversation in a terminal", "chat MODEL --ram 96GiB", chatCommand);
    bindLoading(chat);
    bindTemplate(chat, options_.prompt);
    bindAnswer(chat, options_.answer);
    CLI::App& demo = add("demo", "answers a question with the bundled small model, an eighth of its experts in memory, the rest from disk", "demo", demoCommand);
    bindModel(demo, options_.model, false);
    demo.remove_option(demo.get_option("MODEL"));
    if (program_.bind) program_.bind(demo);
    bindJson(demo, options_);
  }
  void addStudies() {
    CLI::App& trace = add("trace", "computes ids and writes logits, hidden states, routes and index sets", "trace MODEL --ids-file ids.json --out trace.safetensors --greedy 24", traceCommand);
    bindLoading(trace);
    trace.add_option("--ids-file", options_.prompt.ids, "a JSON array of token ids; -: standard input")->type_name("FILE")->required();
    trace.add_option("--out", options_.trace_out, "the safetensors file to write")->type_name("FILE")->required();
    trace.add_option("--greedy", options_.trace_greedy, "go on for so many tokens, each the likeliest; stop ids are ignored")->check(CLI::Range(0, 1 << 24))->type_name("N")->capture_default_str();
    bindJson(trace, options_);
    CLI::App& score = add("score", "log-likelihood of each id given those before it, and whether it was the likeliest", "score MODEL --text essay.txt --json", scoreCommand);
    bindLoading(score);
    CLI::Option_group* what = score.add_option_group("What", "what to score: one of these");
    what->add_option("--ids-file", options_.prompt.ids, "a JSON array of token ids; -: standard input")->type_name("FILE");
    what->add_option("--text", options_.score_text, "a text file; -: standard input")->type_name("FILE");
    what->add_option("--choices", options_.score_choices, "lines of {context, choices[]}: multiple-choice questions")->type_name("FILE");
    what->require_option(1);
    bindJson(score, options_);
  }
  void addFiles() {
    CLI::App& inspect = add("inspect", "what a model is, how its weights are stored, and what to know about that", "inspect MODEL --json", inspectCommand);
    inspect.add_option("MODEL", options_.model.model, "the model's directory")->required();
    bindJson(inspect, options_);
    CLI::App& verify = add("verify", "reads every weight; compares with the sums that --write made before", "verify MODEL --write", verifyCommand);
    bindLoading(verify);
    verify.add_flag("--write", options_.verify_write, "writes the sums (XXH3) of every expert and tensor into the state directory; reads check them from then on");
    bindJson(verify, options_);
    CLI::App& version = add("version", "version, commit, usable instruction sets, compiler", "version --json", versionCommand);
    bindJson(version, options_);
    config_ = app_.add_subcommand("config", "the options that would be used");
    config_->require_subcommand(1);
    config_->set_help_flag("-h,--help", "this text");
    config_print_ = config_->add_subcommand("print", "every option, its value, and where it came from: flag, file or default");
    config_print_->set_help_flag("-h,--help", "this text");
    config_print_->footer("Example:\n  " + program_.name + " config print --ram 96GiB");
    bindModel(*config_print_, options_.model, false);
    bindTemplate(*config_print_, options_.prompt);
    bindAnswer(*config_print_, options_.answer);
    bindJson(*config_print_, options_);
  }

  const Program& program_;
  Options& options_;
  CLI::App app_;
  std::vector<std::pair<const CLI::App*, Command>> commands_;
  CLI::App* config_ = nullptr;
  CLI::App* config_print_ = nullptr;
};

Result<Done> printConfig(const ConfigFile& file, const CLI::App& command, bool json) {
  const std::vector<EffectiveOption> all = effectiveOptions(file, command);
  if (json) {
    nlohmann::ordered_json list = nlohmann::ordered_json::object();
    for (const EffectiveOption& o : all) list[o.name] = {{"value", o.value}, {"origin", o.origin}};
    return printJson({{"file", file.path.string()}, {"options", list}});
  }
  fmt::print("config file: {}\n", file.path.empty() ? std::string("none") : file.path.string());
  for (const EffectiveOption& o : all) fmt::print("{:<18} {:<24} {}\n", o.name, o.value.empty() ? "-" : o.value, o.origin);
  return Done{};
}

CommandResult runChosen(const Program& program, CommandLine& line, const Options& options, const std::filesystem::path& config_path) {
  CLI::App& chosen = *line.app().get_subcommands().front();
  const bool is_config = &chosen == line.config();
  CLI::App& command = is_config ? *line.configPrint() : chosen;
  const ConfigFile config = TRY(readConfigFile(config_path));
  TRY(applyConfigFile(config, line.app(), command));
  if (is_config) {
    TRY(printConfig(config, command, options.json));
    return ExitCode::Ok;
  }
  const SteadyClock clock;
  Progress progress(clock, isatty(2) == 1);
  InterruptGuard interrupts;
  const Invocation call{program, options, progress, interrupts};
  return line.commandOf(chosen)(call);
}

}  // namespace

int runProgram(int argc, char** argv, const Program& program) {
  std::setlocale(LC_CTYPE, "C.UTF-8");  // the line editor counts characters; nothing else asks
  Options options;
  std::filesystem::path config_path;
  CommandLine line(program, options, config_path);
  try {
    line.app().parse(argc, argv);
  } catch (const CLI::ParseError& told) {
    const bool asked_for_help = told.get_exit_code() == 0;
    line.app().exit(told, std::cout, std::cerr);
    return asked_for_help ? 0 : int(ExitCode::Usage);
  }
  const CommandResult result = runChosen(program, line, options, config_path);
  if (result.ok()) return int(result.value());
  note(program, result.error().what);
  return int(exitCodeOf(result.error().code));
}

}  // namespace sluice
