#include "core/text/post_processor.h"

#include <algorithm>

#include <fmt/format.h>

namespace sluice {
namespace {

constexpr int kDepthMax = 8;
// A template is a handful of ids; a hostile one must not multiply a prompt.
constexpr std::size_t kIdsMax = 256;

// The ids that a template's special token stands for.
Result<std::vector<TokenId>> idsOf(const JsonNode& piece, const JsonNode& node, const Vocabulary& vocabulary) {
  const JsonNode name_node = TRY(piece.member("id"));
  const std::string_view name = TRY(name_node.string());
  const JsonNode table = TRY(node.member("special_tokens"));
  const JsonNode entry = TRY(table.member(name));
  const JsonNode list = TRY(entry.member("ids"));
  std::vector<TokenId> ids;
  for (const JsonNode& id_node : TRY(list.elements())) {
    const TokenId id(TRY(id_node.id()));
    if (!vocabulary.names(id)) return id_node.corrupt(fmt::format("the id {} of '{}' names no token", id.value(), name));
    ids.push_back(id);
  }
  return ids;
}

Result<Done> readTemplate(const JsonNode& node, const Vocabulary& vocabulary, PostProcessor& p) {
  const JsonNode single = TRY(node.member("single"));
  std::vector<TokenId> before, after;
  int texts = 0;
  for (const JsonNode& piece : TRY(single.elements())) {
    if (const auto special = TRY(piece.optional("SpecialToken"))) {
      auto& ids = texts == 0 ? before : after;
      for (const TokenId id : TRY(idsOf(*special, node, vocabulary))) ids.push_back(id);
      if (ids.size() > kIdsMax) return single.unsupported(fmt::format("more than {} ids around a text", kIdsMax));
    } else {
      const JsonNode sequence = TRY(piece.member("Sequence"));
      const JsonNode name = TRY(sequence.member("id"));
      if (TRY(name.string()) != "A") return name.corrupt("only sequence A can stand in 'single'");
      ++texts;
    }
  }
  if (texts != 1) return single.unsupported(fmt::format("a template that holds the text {} times", texts));
  p.before.insert(p.before.begin(), before.begin(), before.end());
  p.after.insert(p.after.end(), after.begin(), after.end());
  return Done{};
}

Result<Done> readInto(const JsonNode& node, const Vocabulary& vocabulary, int depth, PostProcessor& p) {
  const std::string_view type = TRY(node.type());
  if (type == "ByteLevel") return Done{};
  if (type == "TemplateProcessing") return readTemplate(node, vocabulary, p);
  if (type == "Sequence") {
    if (depth >= kDepthMax) return node.unsupported(fmt::format("Sequences nested deeper than {}", kDepthMax));
    const JsonNode list = TRY(node.member("processors"));
    for (const JsonNode& step : TRY(list.elements())) TRY(readInto(step, vocabulary, depth + 1, p));
    return Done{};
  }
  return node.unsupported(fmt::format("the post-processor '{}' is not read by this build", type));
}

}  // namespace

Result<PostProcessor> PostProcessor::read(const JsonNode& node, const Vocabulary& vocabulary) {
  PostProcessor p;
  TRY(readInto(node, vocabulary, 0, p));
  return p;
}

}  // namespace sluice
