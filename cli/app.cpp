#include "cli/app.h"

#include <algorithm>

#include <fmt/format.h>

namespace sluice {

bool App::denseAttention() const {
  return std::any_of(warnings.begin(), warnings.end(), [](const Warning& w) { return w.code == "indexer_missing"; });
}

namespace {

// Texts first: they are quick to read, and quick to be wrong.
Result<Done> openTexts(App& app, const std::filesystem::path& directory, TextNeed need) {
  std::error_code fault;
  if (!std::filesystem::is_directory(directory, fault))
    return Error{Errc::NotFound, fmt::format("'{}' is not a directory; a model is a directory with config.json and its weights", directory.string())};
  app.generation = TRY(readGenerationConfig(directory));
  if (need == TextNeed::None) return Done{};
  // The template first: a chat without one is the likelier mistake, and its error says more.
  if (need == TextNeed::Chat) {
    Result<ChatTemplate> chat = ChatTemplate::load(directory);
    if (!chat.ok() && chat.error().code == Errc::NotFound)
      return Error{Errc::NotFound, chat.error().what + "; `run --prompt FILE` takes plain text, `run --ids-file FILE` ids"};
    app.chat = std::make_unique<ChatTemplate>(TRY(std::move(chat)));
  }
  Result<Tokenizer> tokenizer = Tokenizer::load(directory / "tokenizer.json");
  if (tokenizer.ok()) {
    app.tokenizer = std::make_unique<Tokenizer>(std::move(tokenizer).value());
    for (const std::string& text : app.tokenizer->warnings()) app.warnings.push_back({"tokenizer", text});
  } else if (tokenizer.error().code != Errc::NotFound) {
    return std::move(tokenizer).error();
  } else if (need != TextNeed::Optional) {
    return Error{Errc::NotFound, fmt::format("'{}' has no tokenizer.json, so text cannot become ids; put the file there, or give ids with --ids-file", directory.string())};
  }
  return Done{};
}

}  // namespace

Result<App> openApp(const Program& program, const ModelOptions& options, TextNeed need, Progress& progress, const InterruptGuard& interrupts) {
  TRY(checkOptions(options));
  App app;
  TRY(openTexts(app, options.model, need));
  LoadWatch watch;
  watch.progress = [&](std::string_view what, double done, double total) { progress.show(what, done, total, "bytes"); };
  watch.cancelled = [&] { return interrupts.interrupted(); };
  app.model = TRY(program.load(options, watch));
  progress.clear();
  const LoadedFacts& facts = app.model->facts();
  app.warnings.insert(app.warnings.begin(), facts.warnings.begin(), facts.warnings.end());
  const int vocabulary = app.model->forward().facts().vocabulary;
  if (app.tokenizer && app.tokenizer->size() > vocabulary)
    return Error{Errc::Corrupt, fmt::format("tokenizer.json has ids up to {}, and the model's vocabulary ends at {}: they belong to different models",
                                            app.tokenizer->size() - 1, vocabulary - 1)};
  EngineParts parts;
  parts.forward = &app.model->forward();
  parts.tokenizer = app.tokenizer.get();
  parts.stop_ids = unionOf(facts.stop_ids, app.generation.stop_ids);
  app.engine = std::make_unique<Engine>(std::move(parts));
  return app;
}

}  // namespace sluice
