#pragma once
// Cuts text into the pieces that merging never crosses, by the steps of a file's `pre_tokenizer`.

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "core/text/json_document.h"
#include "core/text/split_regex.h"

namespace sluice {

/// What a Split does with what its pattern finds.
enum class SplitBehaviour { Removed, Isolated, MergedWithPrevious, MergedWithNext, Contiguous };

class PreTokenizer {
 public:
  /// Reads a `pre_tokenizer`: ByteLevel, Split, Digits, Punctuation, Whitespace, WhitespaceSplit and Sequences of them, one ByteLevel in all.
  /// errors  Unsupported: other types, behaviours and patterns, by name; Corrupt
  static Result<PreTokenizer> read(const JsonNode& node);

  /// Buffers of one thread, kept from one call to the next.
  struct Scratch {
    struct Range {
      std::size_t begin, end;
      bool found;  // by the pattern
    };
    RegexRun run;
    std::string text, next_text;
    std::vector<Range> pieces, next_pieces, ranges;
  };
  /// Cuts `text` (UTF-8). The pieces, as bytes, are views of `text` or of `scratch`, until the next call.
  /// errors  BadRequest: a pattern gave up, with the byte
  Result<Done> split(std::string_view text, Scratch& scratch, std::vector<std::string_view>& pieces) const;

 private:
  struct Step {
    std::optional<SplitRegex> regex;
    SplitBehaviour behaviour = SplitBehaviour::Isolated;
    bool invert = false;
    bool byte_level = false;  // and then perhaps a regex of its own
    bool add_prefix_space = false;
  };
  Result<Done> readStep(const JsonNode& node, int depth);
  Result<Done> addSplit(const JsonNode& node, std::string_view pcre_pattern, SplitBehaviour behaviour, bool invert);
  static Result<Done> cut(const Step& step, std::string_view text, Scratch& scratch);
  static void prefixSpaces(std::string_view text, Scratch& scratch);
  static void spellPieces(std::string_view text, Scratch& scratch);

  std::vector<Step> steps_;
};

}  // namespace sluice
