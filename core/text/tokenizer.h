#pragma once
// Byte-level BPE from a tokenizer.json: text to ids. Ids to text is core/text/detokenizer.h.

#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/ids.h"
#include "core/base/result.h"

namespace sluice {

/// Text with its author: only what a template (or the operator) wrote may become added tokens. What a client wrote never does, save
/// added tokens of white space alone, which are text.
struct AuthoredText {
  std::string text;
  bool markup = false;
};

class Tokenizer {
 public:
  /// Reads `file` (tokenizer.json). `vocabulary` > 0: ids at or above it are refused.
  /// errors  NotFound, Corrupt (names file, place and fault), Unsupported (by name)
  static Result<Tokenizer> load(const std::filesystem::path& file, int vocabulary = 0);
  /// The same from bytes; `name` stands for the file in messages.
  static Result<Tokenizer> parse(std::string_view json, std::string_view name, int vocabulary = 0);
  Tokenizer(Tokenizer&&) noexcept;
  Tokenizer& operator=(Tokenizer&&) noexcept;
  ~Tokenizer();

  /// Ids of the joined parts. Added tokens are matched inside parts that allow markup; the text between two of them, whoever wrote it, is
  /// split and merged together. Text must be UTF-8 (BadRequest names the byte otherwise). `with_special`: the file's post-processor
  /// adds its tokens (Llama 3's BOS).
  /// threads const; any thread
  Result<std::vector<TokenId>> encode(std::span<const AuthoredText> parts, bool with_special = false) const;
  Result<std::vector<TokenId>> encode(std::string_view text, bool markup, bool with_special = false) const;

  /// Bytes that an id stands for ("" for ids that name nothing). An added token's content, verbatim.
  std::string_view bytesOf(TokenId id) const;
  bool isAdded(TokenId id) const;
  bool isSpecial(TokenId id) const;  // `special: true` in the file
  /// The id whose content is exactly `text`, as an added token or vocabulary entry.
  std::optional<TokenId> find(std::string_view text) const;
  /// One above the largest id.
  int size() const;
  /// Things a person should know (dropout ignored, ...), one sentence each.
  std::span<const std::string> warnings() const;

 private:
  struct Impl;
  explicit Tokenizer(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace sluice
