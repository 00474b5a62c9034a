#include <fmt/format.h>

#include "cli/commands.h"
#include "cli/prompt_input.h"
#include "core/run/scoring.h"
#include "core/text/chat_json.h"

namespace sluice {
namespace {

using Json = nlohmann::ordered_json;

struct Scores {
  std::vector<double> logprobs;  // of each id but the first, given those before it
  std::vector<bool> greedy;      // it was the argmax
};

Result<Scores> scoreIds(const Invocation& call, App& app, const std::vector<TokenId>& ids) {
  const ForwardFacts& facts = app.engine->facts();
  TRY(Scoring::check(ids, 0, facts.vocabulary, facts.context));
  Scores scores;
  Scoring scoring(
      ids, 0,
      [&](int position, std::span<const float> logits, std::span<const float>) {
        const std::size_t next = std::size_t(position) + 1;
        if (next >= ids.size()) return;
        scores.logprobs.push_back(logProbability(logits, ids[next]));
        scores.greedy.push_back(argmaxOf(logits) == ids[next]);
      },
      &call.interrupts.flag());
  TRY(app.engine->add(scoring));
  while (app.engine->step()) call.progress.show("scoring", scoring.rowsDone(), double(ids.size()), "tokens");
  call.progress.clear();
  if (scoring.error()) return *scoring.error();
  return scores;
}

Json idsJson(const std::vector<TokenId>& ids) {
  Json list = Json::array();
  for (const TokenId id : ids) list.push_back(id.value());
  return list;
}

// Of one row: nothing comes before the first id, so that it has no likelihood.
Json documentOf(const Scores& scores, const std::vector<TokenId>& ids) {
  Json logprobs = Json::array({nullptr}), greedy = Json::array({nullptr});
  double sum = 0;
  for (std::size_t i = 0; i < scores.logprobs.size(); ++i) {
    logprobs.push_back(scores.logprobs[i]);
    greedy.push_back(bool(scores.greedy[i]));
    sum += scores.logprobs[i];
  }
  return {{"logprobs", logprobs}, {"greedy", greedy}, {"sum", sum}, {"ids", idsJson(ids)}};
}

struct Question {
  std::string context;
  std::vector<std::string> choices;
};

Result<Question> parseQuestion(const std::string& line, std::size_t number) {
  const std::string name = fmt::format("--choices, line {}", number);
  const Json given = TRY(parseChatJson(line, name));
  const Error wrong{Errc::BadRequest, name + " is not an object {context, choices} of a text and a list of texts"};
  if (!given.is_object() || !given.contains("context") || !given["context"].is_string() || !given.contains("choices") || !given["choices"].is_array()) return wrong;
  Question question;
  question.context = given["context"].get<std::string>();
  for (const Json& choice : given["choices"]) {
    if (!choice.is_string()) return wrong;
    question.choices.push_back(choice.get<std::string>());
  }
  return question;
}

/// A choice's ids are those of context and choice together behind those of the context alone.
Result<Json> scoreQuestion(const Invocation& call, App& app, const Question& question, std::size_t number) {
  Json logprobs = Json::array(), greedy = Json::array(), tokens = Json::array();
  std::size_t best = 0;
  const std::vector<TokenId> context = TRY(app.engine->promptOf(std::string_view(question.context)));
  for (std::size_t c = 0; c < question.choices.size(); ++c) {
    const std::vector<TokenId> ids = TRY(app.engine->promptOf(std::string_view(question.context + question.choices[c])));
    if (context.empty() || ids.size() <= context.size())
      return Error{Errc::BadRequest, fmt::format("--choices, line {}: context and choice {} must each add at least one token", number, c)};
    const Scores scores = TRY(scoreIds(call, app, ids));
    double sum = 0;
    bool all_greedy = true;
    for (std::size_t i = context.size() - 1; i < scores.logprobs.size(); ++i) {
      sum += scores.logprobs[i];
      all_greedy = all_greedy && scores.greedy[i];
    }
    logprobs.push_back(sum);
    greedy.push_back(all_greedy);
    tokens.push_back(ids.size() - context.size());
    if (sum > logprobs[best].get<double>()) best = c;
  }
  return Json{{"logprobs", logprobs}, {"greedy", greedy}, {"tokens", tokens}, {"best", best}};
}

Result<Json> scoreChoices(const Invocation& call, App& app, const std::string& lines) {
  Json logprobs = Json::array(), greedy = Json::array(), tokens = Json::array(), best = Json::array();
  std::size_t number = 0;
  for (std::size_t at = 0; at < lines.size();) {
    const std::size_t end = std::min(lines.find('\n', at), lines.size());
    const std::string line = lines.substr(at, end - at);
    at = end + 1;
    ++number;
    if (line.find_first_not_of(" \t\r") == std::string::npos) continue;
    const Question question = TRY(parseQuestion(line, number));
    const Json scored = TRY(scoreQuestion(call, app, question, number));
    logprobs.push_back(scored["logprobs"]);
    greedy.push_back(scored["greedy"]);
    tokens.push_back(scored["tokens"]);
    best.push_back(scored["best"]);
  }
  return Json{{"logprobs", logprobs}, {"greedy", greedy}, {"tokens", tokens}, {"best", best}};
}

}  // namespace

CommandResult scoreCommand(const Invocation& call) {
  const Options& options = call.options;
  const bool by_ids = !options.prompt.ids.empty();
  const char* flag = by_ids ? "--ids-file" : !options.score_text.empty() ? "--text" : "--choices";
  const std::filesystem::path& path = by_ids ? options.prompt.ids : !options.score_text.empty() ? options.score_text : options.score_choices;
  const std::string input = TRY(readInput(path, flag));
  App app = TRY(openApp(call.program, options.model, by_ids ? TextNeed::None : TextNeed::Required, call.progress, call.interrupts));
  Json document;
  if (!options.score_choices.empty()) {
    document = TRY(scoreChoices(call, app, input));
  } else {
    const std::vector<TokenId> ids = by_ids ? TRY(parseIds(input, path.string())) : TRY(app.engine->promptOf(std::string_view(input)));
    const Scores scores = TRY(scoreIds(call, app, ids));
    document = documentOf(scores, ids);
  }
  Json warnings = Json::array();
  for (const Warning& w : app.warnings) {
    warnings.push_back({{"code", w.code}, {"text", w.text}});
    note(call.program, fmt::format("warning: {}: {}", w.code, w.text));
  }
  document["warnings"] = warnings;
  TRY(printJson(document));
  return ExitCode::Ok;
}

}  // namespace sluice
