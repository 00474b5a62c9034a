#include <ctime>

#include <fmt/format.h>

#include "cli/answer.h"
#include "cli/commands.h"
#include "cli/line_editor.h"
#include "cli/prompt_input.h"
#include "cli/report_json.h"

namespace sluice {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kHelp =
    "/help           this list\n"
    "/reset          forget the conversation\n"
    "/system TEXT    begin again with a system message\n"
    "/think on|off   ask for reasoning, or not\n"
    "/stats          what the last answer cost\n"
    "/quit           leave (so does Ctrl-D)\n"
    "Ctrl-C stops an answer and keeps the conversation.\n";

class Conversation {
 public:
  Conversation(const Invocation& call, App& app, Json arguments) : call_(call), app_(app), arguments_(std::move(arguments)) {}

  /// False when the person wants to leave.
  Result<bool> command(const std::string& line) {
    const std::size_t space = line.find(' ');
    const std::string name = line.substr(0, space);
    const std::string rest = space == std::string::npos ? "" : line.substr(space + 1);
    if (name == "/quit" || name == "/exit") return false;
    if (name == "/help") {
      fmt::print("{}", kHelp);
    } else if (name == "/reset") {
      messages_ = Json::array();
      fmt::print("The conversation is forgotten.\n");
    } else if (name == "/system") {
      messages_ = Json::array();
      if (!rest.empty()) messages_.push_back({{"role", "system"}, {"content", rest}});
      fmt::print("The conversation begins again{}.\n", rest.empty() ? "" : " with this system message");
    } else if (name == "/think" && (rest == "on" || rest == "off")) {
      arguments_["enable_thinking"] = rest == "on";
      fmt::print("Reasoning is asked for: {}.\n", rest);
    } else if (name == "/stats") {
      for (const std::string& text : last_report_) fmt::print("{}\n", text);
    } else {
      fmt::print("There is no {}; /help lists what there is.\n", line);
    }
    std::fflush(stdout);
    return true;
  }

  /// One turn. An answer that cannot be begun (context full, template refuses) is told, and the message taken back.
  Result<Done> say(const std::string& text) {
    messages_.push_back({{"role", "user"}, {"content", text}});
    Result<Answer> answered = answer();
    if (!answered.ok()) {
      messages_.erase(messages_.size() - 1);
      if (answered.error().code != Errc::BadRequest && answered.error().code != Errc::OutOfBudget) return std::move(answered).error();
      note(call_.program, answered.error().what + "; /reset begins afresh");
      return Done{};
    }
    const Answer& answer = answered.value();
    last_report_ = answerLines(app_, answer, sampling_);
    Json message = {{"role", "assistant"}, {"content", answer.text}};
    if (!answer.reasoning.empty()) message["reasoning_content"] = answer.reasoning;
    messages_.push_back(std::move(message));
    if (answer.end.error) return *answer.end.error;
    if (answer.end.reason != EndReason::Eos) note(call_.program, fmt::format("ended: {} ({})", nameOf(answer.end.reason), answer.end.detail));
    if (app_.denseAttention()) note(call_.program, "attention was dense, because the indexer is missing");
    return Done{};
  }

 private:
  Result<Answer> answer() {
    ChatRequest request;
    request.messages = messages_;
    request.arguments = arguments_;
    request.now_unix = std::int64_t(std::time(nullptr));
    GenerationSpec spec;
    spec.prompt = TRY(chatPrompt(app_, std::move(request)));
    // Every turn has its own seed-and-position draws: positions grow with the conversation.
    if (!seeded_) {
      sampling_ = TRY(samplingOf(app_, call_.options));
      seeded_ = true;
    }
    spec.sampling = sampling_;
    spec.limit = limitOf(call_.options.answer);
    spec.stop_texts = call_.options.answer.stop;
    call_.interrupts.clear();
    Result<Answer> made = makeAnswer(
        app_, std::move(spec), [&](Channel channel, std::string_view piece) { return terminal_.show(channel, piece); }, call_.progress, call_.interrupts);
    terminal_.close();
    call_.interrupts.clear();
    return made;
  }

  const Invocation& call_;
  App& app_;
  Json arguments_;
  Json messages_ = Json::array();
  SamplingOptions sampling_;
  bool seeded_ = false;
  TerminalText terminal_;
  std::vector<std::string> last_report_;
};

}  // namespace

CommandResult chatCommand(const Invocation& call) {
  const Options& options = call.options;
  TRY(checkStopTexts(options.answer.stop));
  Json arguments = TRY(templateArguments(options.prompt));
  App app = TRY(openApp(call.program, options.model, TextNeed::Chat, call.progress, call.interrupts));
  TRY(samplingOf(app, options));
  for (const Warning& w : app.warnings) note(call.program, fmt::format("warning: {}: {}", w.code, w.text));
  LineEditor editor;
  if (editor.terminal()) fmt::print("{} is ready. /help lists the commands.\n", app.model->facts().family);
  Conversation conversation(call, app, std::move(arguments));
  while (true) {
    bool interrupted = false;
    const std::optional<std::string> line = editor.read("> ", interrupted);
    if (interrupted) {
      call.interrupts.clear();
      if (!editor.terminal()) return ExitCode::Interrupted;
      fmt::print("\n(/quit or Ctrl-D leaves)\n");
      continue;
    }
    if (!line) break;
    if (line->find_first_not_of(" \t") == std::string::npos) continue;
    if (line->front() == '/') {
      if (!TRY(conversation.command(*line))) break;
      continue;
    }
    TRY(conversation.say(*line));
  }
  return ExitCode::Ok;
}

}  // namespace sluice
