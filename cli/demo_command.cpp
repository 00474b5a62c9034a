#include <unistd.h>

#include <fmt/format.h>

#include "cli/answer.h"
#include "cli/build_info.h"
#include "cli/commands.h"
#include "cli/prompt_input.h"
#include "cli/report_json.h"

namespace sluice {
namespace {

constexpr const char* kQuestion = "Is Peru a country or a city?";

// Where the clone keeps the model, or beside the program.
Result<std::filesystem::path> bundledModel() {
  std::error_code fault;
  std::vector<std::filesystem::path> places{kBundledModel};
  const std::filesystem::path self = std::filesystem::read_symlink("/proc/self/exe", fault);
  if (!fault) places.push_back(self.parent_path() / "models" / "nano-gs64");
  std::string tried;
  for (const std::filesystem::path& place : places) {
    if (std::filesystem::exists(place / "config.json", fault)) return place;
    tried += (tried.empty() ? "'" : ", '") + place.string() + "'";
  }
  return Error{Errc::NotFound, fmt::format("the bundled model is in none of {}; run the demo from a whole clone, or copy the model beside the program", tried)};
}

}  // namespace

CommandResult demoCommand(const Invocation& call) {
  Options options = call.options;
  options.model.model = TRY(bundledModel());
  options.answer.sampling.temperature = 0;  // the demo is greedy, so that it always answers alike
  options.prompt.text = kQuestion;
  // An eighth of the experts that layers 1 to 5 have: 5 x 32 / 8.
  if (options.model.cache_experts == 0) options.model.cache_experts = 20;
  App app = TRY(openApp(call.program, options.model, TextNeed::Chat, call.progress, call.interrupts));

  GenerationSpec spec;
  spec.prompt = TRY(promptIds(app, options.prompt));
  spec.sampling = TRY(samplingOf(app, options));
  spec.limit = limitOf(options.answer);
  const SamplingOptions sampling = spec.sampling;
  const TokenLimit limit = spec.limit;
  TerminalText terminal;
  if (!options.json) note(call.program, fmt::format("question: {}", kQuestion));
  const ShowText show = [&](Channel channel, std::string_view text) -> Result<Done> {
    if (options.json) return Done{};
    return terminal.show(channel, text);
  };
  const Answer answer = TRY(makeAnswer(app, std::move(spec), show, call.progress, call.interrupts));
  terminal.close();
  for (const std::string& line : answerLines(app, answer, sampling)) note(call.program, line);
  if (options.json) TRY(printJson(answerJson(app, answer, options, sampling, limit)));
  if (answer.end.reason == EndReason::Error || answer.end.reason == EndReason::Cancelled)
    return exitCodeOf(answer.end.reason, answer.end.error ? answer.end.error->code : Errc::BadRequest);
  if (answer.stream.bytes_read.count() == 0 || answer.stream.misses == 0)
    return Error{Errc::Numeric, "the demo read no expert from disk, so it showed nothing of streaming; give it a smaller --cache-experts"};
  return ExitCode::Ok;
}

}  // namespace sluice
