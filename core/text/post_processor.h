#pragma once
// What a file's `post_processor` puts around a text: Llama 3's BOS.

#include <vector>

#include "core/base/ids.h"
#include "core/base/result.h"
#include "core/text/json_document.h"
#include "core/text/vocab.h"

namespace sluice {

struct PostProcessor {
  std::vector<TokenId> before, after;

  /// Reads ByteLevel (which moves offsets only), TemplateProcessing and Sequences of them.
  /// errors  Unsupported: other types by name; Corrupt: a template without the text, or with ids that name nothing
  static Result<PostProcessor> read(const JsonNode& node, const Vocabulary& vocabulary);
};

}  // namespace sluice
