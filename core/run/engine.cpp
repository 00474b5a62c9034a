#include "core/run/engine.h"

namespace sluice {
namespace {

Error noTokenizer() {
  return Error{Errc::Unsupported, "this model directory has no tokenizer.json, so text cannot become ids; put the file there, or give ids with --ids-file"};
}

}  // namespace

Engine::Engine(EngineParts parts) : parts_(std::move(parts)), driver_(*parts_.forward) {
  if (parts_.tokenizer != nullptr) tags_ = channelTagsOf(*parts_.tokenizer);
}

Result<std::vector<TokenId>> Engine::promptOf(std::span<const AuthoredText> rendered) const {
  if (parts_.tokenizer == nullptr) return noTokenizer();
  return parts_.tokenizer->encode(rendered, false);
}

Result<std::vector<TokenId>> Engine::promptOf(std::string_view raw) const {
  if (parts_.tokenizer == nullptr) return noTokenizer();
  return parts_.tokenizer->encode(raw, true, true);
}

Result<std::unique_ptr<Generation>> Engine::begin(GenerationSpec spec, EventLog& log) {
  GenerationPlace place;
  place.tokenizer = parts_.tokenizer;
  place.tags = tags_;
  place.vocabulary = facts().vocabulary;
  place.context = facts().context;
  TRY(Generation::check(spec, place));
  spec.stop_ids = unionOf(spec.stop_ids, parts_.stop_ids);
  auto generation = std::make_unique<Generation>(std::move(spec), place, log);
  TRY(driver_.add(*generation));
  return generation;
}

}  // namespace sluice
