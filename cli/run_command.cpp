#include <fmt/format.h>

#include "cli/answer.h"
#include "cli/commands.h"
#include "cli/prompt_input.h"
#include "cli/report_json.h"
#include "cli/route_log.h"

namespace sluice {

CommandResult runCommand(const Invocation& call) {
  const Options& options = call.options;
  TRY(checkStopTexts(options.answer.stop));
  const std::unique_ptr<RouteLog> routes = options.trace_routes.empty() ? nullptr : TRY(RouteLog::create(options.trace_routes));
  App app = TRY(openApp(call.program, options.model, textNeedOf(options.prompt), call.progress, call.interrupts));
  if (!options.answer.stop.empty() && !app.tokenizer)
    return Error{Errc::BadRequest, "--stop needs text, and this model directory has no tokenizer.json"};
  GenerationSpec spec;
  spec.prompt = TRY(promptIds(app, options.prompt));
  spec.sampling = TRY(samplingOf(app, options));
  spec.limit = limitOf(options.answer);
  spec.stop_texts = options.answer.stop;
  const SamplingOptions sampling = spec.sampling;
  const TokenLimit limit = spec.limit;
  if (routes) app.model->watch(routes.get());

  TerminalText terminal;
  const ShowText show = [&](Channel channel, std::string_view text) -> Result<Done> {
    if (options.json) return Done{};
    return terminal.show(channel, text);
  };
  const Answer answer = TRY(makeAnswer(app, std::move(spec), show, call.progress, call.interrupts, [&](const Generation& generation) {
    if (routes) routes->follow(generation);
  }));
  terminal.close();
  app.model->watch(nullptr);
  if (routes) TRY(routes->finish());

  for (const std::string& line : answerLines(app, answer, sampling)) note(call.program, line);
  if (options.json) TRY(printJson(answerJson(app, answer, options, sampling, limit)));
  return exitCodeOf(answer.end.reason, answer.end.error ? answer.end.error->code : Errc::BadRequest);
}

}  // namespace sluice
