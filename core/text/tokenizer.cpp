#include "core/text/tokenizer.h"

#include <algorithm>
#include <unordered_map>
#include <utility>

#include <fmt/format.h>

#include "core/base/file.h"
#include "core/text/added_tokens.h"
#include "core/text/authored_runs.h"
#include "core/text/bpe.h"
#include "core/text/json_document.h"
#include "core/text/nfc.h"
#include "core/text/post_processor.h"
#include "core/text/pre_tokenizer.h"
#include "core/text/utf8.h"
#include "core/text/vocab.h"

namespace sluice {
namespace {

// Vendors' largest file has 33 MB.
constexpr Bytes kFileMax = 512_MiB;
// Offsets of symbols in one piece are 32 bits wide.
constexpr std::size_t kTextMax = std::size_t(1) << 31;
constexpr int kDepthMax = 8;

// True if the normalizer is NFC, false if it is nothing.
Result<bool> readNormalizer(const JsonNode& node, int depth) {
  const std::string_view type = TRY(node.type());
  if (type == "NFC") return true;
  if (type != "Sequence") return node.unsupported(fmt::format("the normalizer '{}' is not read by this build, which knows NFC", type));
  if (depth >= kDepthMax) return node.unsupported(fmt::format("Sequences nested deeper than {}", kDepthMax));
  const JsonNode list = TRY(node.member("normalizers"));
  bool nfc = false;
  for (const JsonNode& step : TRY(list.elements()))
    if (TRY(readNormalizer(step, depth + 1))) nfc = true;
  return nfc;
}

// Ids become bytes as ByteLevel says; other decoders would print another text.
Result<Done> checkDecoder(const JsonNode& node, int depth) {
  const std::string_view type = TRY(node.type());
  if (type == "ByteLevel" || type == "Fuse") return Done{};
  if (type != "Sequence") return node.unsupported(fmt::format("the decoder '{}' is not read by this build, which reads byte-level BPE", type));
  if (depth >= kDepthMax) return node.unsupported(fmt::format("Sequences nested deeper than {}", kDepthMax));
  const JsonNode list = TRY(node.member("decoders"));
  for (const JsonNode& step : TRY(list.elements())) TRY(checkDecoder(step, depth + 1));
  return Done{};
}

// What a model may say that byte-level BPE has no use for; `ignore_merges` is returned.
Result<bool> checkModel(const JsonNode& model, std::vector<std::string>& warnings) {
  const auto type = TRY(model.optional("type"));
  if (type && TRY(type->string()) != "BPE") return type->unsupported(fmt::format("the model '{}' is not read by this build, which reads byte-level BPE", TRY(type->string())));
  if (const auto dropout = TRY(model.optional("dropout"))) {
    double rate = 0;
    if (dropout->raw().get(rate) != simdjson::SUCCESS || !(0 <= rate && rate <= 1)) return dropout->corrupt("a dropout must be a number from 0 to 1");
    if (rate > 0) warnings.push_back(dropout->corrupt(fmt::format("dropout {} is ignored: the same text always gives the same ids", rate)).what);
  }
  for (const char* affix : {"continuing_subword_prefix", "end_of_word_suffix"})
    if (const auto found = TRY(model.optional(affix)); found && !TRY(found->string()).empty())
      return found->unsupported(fmt::format("a '{}' is not read by this build, which reads byte-level BPE", affix));
  if (TRY(model.flag("byte_fallback", false)))
    return model.unsupported("byte_fallback is true, as in models of the sentencepiece kind; this build reads byte-level BPE");
  return model.flag("ignore_merges", false);
}

}  // namespace

struct Tokenizer::Impl {
  Vocabulary vocabulary;
  MergeTable merges;
  PreTokenizer pre_tokenizer;
  PostProcessor post_processor;
  AddedTokenMatcher raw_matcher, normalized_matcher;
  std::unordered_map<std::string, TokenId> added_ids;
  std::vector<bool> is_added, is_special;  // by id
  bool nfc = false;
  bool ignore_merges = false;
  std::vector<std::string> warnings;

  // The buffers of one call of encode.
  struct Work {
    Work(const Vocabulary& v, const MergeTable& m) : merger(v, m) {}
    PreTokenizer::Scratch scratch;
    Merger merger;
    std::vector<std::string_view> pieces;
    std::vector<TextPart> raw_parts, parts;
    std::string normalized;
    AuthoredRuns normalized_runs;
    std::vector<TokenId> ids;
  };

  Result<Done> readAdded(const JsonNode& root, const Vocabulary::Spellings& spellings, const std::vector<AddedToken>& tokens);
  Result<Done> encodeText(std::string_view text, Work& work) const;
  Result<Done> encodeNormalized(std::string_view text, const AuthoredRuns& runs, std::size_t begin, std::size_t end, Work& work) const;
};

Result<Done> Tokenizer::Impl::readAdded(const JsonNode& root, const Vocabulary::Spellings& spellings, const std::vector<AddedToken>& tokens) {
  std::size_t size = vocabulary.size();
  for (const AddedToken& t : tokens) size = std::max<std::size_t>(size, std::size_t(t.id.value()) + 1);
  is_added.assign(size, false);
  is_special.assign(size, false);
  // Special ones first: of two tokens that normalise alike, the reference takes the special one.
  for (const bool special : {true, false})
    for (const AddedToken& t : tokens) {
      if (t.special != special) continue;
      if (t.special && !t.blank && vocabulary.isByteToken(t.id))
        return root.unsupported(fmt::format("the special token '{}' is also the word of a byte, so that plain text could not be told from control", t.content));
      vocabulary.add(t.id, t.content);
      is_added[t.id.value()] = true;
      is_special[t.id.value()] = t.special;
      added_ids.emplace(t.content, t.id);
      std::string content = t.content;
      if (t.normalized && nfc) {
        AuthoredRuns runs, ignored;
        runs.append(content.size(), true);
        content.clear();
        appendNfc(t.content, runs, 0, t.content.size(), content, ignored);
      }
      (t.normalized ? normalized_matcher : raw_matcher).add(t, content);
    }
  const JsonNode model = TRY(root.member("model"));
  const JsonNode list = TRY(model.member("merges"));
  merges = TRY(MergeTable::read(list, spellings, is_special, warnings));
  if (const std::size_t holes = vocabulary.holes(); holes > 0)
    warnings.push_back(root.corrupt(fmt::format("{} of {} ids name no token", holes, vocabulary.size())).what);
  return Done{};
}

Result<Tokenizer> Tokenizer::load(const std::filesystem::path& file, int vocabulary) {
  const std::string bytes = TRY(readWholeFile(file, kFileMax));
  return parse(bytes, file.string(), vocabulary);
}

Result<Tokenizer> Tokenizer::parse(std::string_view json, std::string_view name, int vocabulary) {
  const JsonDocument document = TRY(JsonDocument::parse(json, name));
  const JsonNode root = document.root();
  auto impl = std::make_unique<Impl>();
  const JsonNode model = TRY(root.member("model"));
  impl->ignore_merges = TRY(checkModel(model, impl->warnings));
  if (const auto normalizer = TRY(root.optional("normalizer"))) impl->nfc = TRY(readNormalizer(*normalizer, 0));
  const auto pre_tokenizer = TRY(root.optional("pre_tokenizer"));
  if (!pre_tokenizer) return root.unsupported("'pre_tokenizer' is missing: without a ByteLevel step this is no byte-level tokenizer, and this build reads no other kind");
  impl->pre_tokenizer = TRY(PreTokenizer::read(*pre_tokenizer));
  if (const auto decoder = TRY(root.optional("decoder"))) TRY(checkDecoder(*decoder, 0));
  for (const char* cut : {"truncation", "padding"})
    if (TRY(root.optional(cut))) impl->warnings.push_back(root.corrupt(fmt::format("'{}' is ignored: no text is cut or padded", cut)).what);

  const auto added = TRY(root.optional("added_tokens"));
  std::size_t added_count = 0;
  if (added) added_count = TRY(added->elements()).size();
  Vocabulary::Spellings spellings;
  const JsonNode vocab = TRY(model.member("vocab"));
  impl->vocabulary = TRY(Vocabulary::read(vocab, added_count, spellings));
  std::vector<AddedToken> tokens;
  if (added) tokens = TRY(readAddedTokens(*added, spellings, impl->warnings));
  TRY(impl->readAdded(root, spellings, tokens));
  if (vocabulary > 0 && impl->vocabulary.size() > std::size_t(vocabulary)) {
    const TokenId last(std::uint32_t(impl->vocabulary.size() - 1));
    return root.corrupt(fmt::format("the id {} of '{}' is not below the model's vocabulary of {}: this tokenizer is another model's", last.value(),
                                    impl->vocabulary.bytesOf(last), vocabulary));
  }
  if (const auto post = TRY(root.optional("post_processor"))) impl->post_processor = TRY(PostProcessor::read(*post, impl->vocabulary));
  return Tokenizer(std::move(impl));
}

Tokenizer::Tokenizer(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Tokenizer::Tokenizer(Tokenizer&&) noexcept = default;
Tokenizer& Tokenizer::operator=(Tokenizer&&) noexcept = default;
Tokenizer::~Tokenizer() = default;

// Text without added tokens: pieces, then merges.
Result<Done> Tokenizer::Impl::encodeText(std::string_view text, Work& work) const {
  TRY(pre_tokenizer.split(text, work.scratch, work.pieces));
  for (const std::string_view piece : work.pieces) {
    if (ignore_merges) {
      const auto whole = vocabulary.find(piece);
      if (whole && !is_special[whole->value()]) {
        work.ids.push_back(*whole);
        continue;
      }
    }
    work.merger.merge(piece, work.ids);
  }
  return Done{};
}

// Text between two tokens of the first pass, normalised: the second pass.
Result<Done> Tokenizer::Impl::encodeNormalized(std::string_view text, const AuthoredRuns& runs, std::size_t begin, std::size_t end, Work& work) const {
  if (normalized_matcher.empty()) return encodeText(text.substr(begin, end - begin), work);
  work.parts.clear();
  normalized_matcher.split(text, runs, begin, end, work.parts);
  for (const TextPart& part : work.parts) {
    if (part.token) work.ids.push_back(*part.token);
    else TRY(encodeText(text.substr(part.begin, part.end - part.begin), work));
  }
  return Done{};
}

Result<std::vector<TokenId>> Tokenizer::encode(std::span<const AuthoredText> parts, bool with_special) const {
  AuthoredRuns runs;
  std::string joined;
  for (const AuthoredText& part : parts) {
    if (const std::size_t at = utf8FaultAt(part.text); at != std::string_view::npos)
      return Error{Errc::BadRequest, fmt::format("the text is not UTF-8 at byte {} of {} (0x{:02X})", joined.size() + at, joined.size() + part.text.size(),
                                                 static_cast<unsigned char>(part.text[at]))};
    if (part.text.size() > kTextMax - joined.size()) return Error{Errc::BadRequest, fmt::format("the text is longer than {} bytes", kTextMax)};
    runs.append(part.text.size(), part.markup);
    joined += part.text;
  }
  Impl::Work work(impl_->vocabulary, impl_->merges);
  work.ids.reserve(joined.size() / 3 + impl_->post_processor.before.size() + impl_->post_processor.after.size() + 8);
  if (with_special) work.ids = impl_->post_processor.before;
  impl_->raw_matcher.split(joined, runs, 0, joined.size(), work.raw_parts);
  for (const TextPart& part : work.raw_parts) {
    if (part.token) {
      work.ids.push_back(*part.token);
    } else if (impl_->nfc) {
      work.normalized.clear();
      work.normalized_runs.clear();
      appendNfc(joined, runs, part.begin, part.end, work.normalized, work.normalized_runs);
      TRY(impl_->encodeNormalized(work.normalized, work.normalized_runs, 0, work.normalized.size(), work));
    } else {
      TRY(impl_->encodeNormalized(joined, runs, part.begin, part.end, work));
    }
  }
  if (with_special) work.ids.insert(work.ids.end(), impl_->post_processor.after.begin(), impl_->post_processor.after.end());
  return std::move(work.ids);
}

Result<std::vector<TokenId>> Tokenizer::encode(std::string_view text, bool markup, bool with_special) const {
  const AuthoredText part{std::string(text), markup};
  return encode(std::span(&part, 1), with_special);
}

std::string_view Tokenizer::bytesOf(TokenId id) const { return impl_->vocabulary.bytesOf(id); }
bool Tokenizer::isAdded(TokenId id) const { return id.value() < impl_->is_added.size() && impl_->is_added[id.value()]; }
bool Tokenizer::isSpecial(TokenId id) const { return id.value() < impl_->is_special.size() && impl_->is_special[id.value()]; }

std::optional<TokenId> Tokenizer::find(std::string_view text) const {
  if (const auto it = impl_->added_ids.find(std::string(text)); it != impl_->added_ids.end()) return it->second;
  return impl_->vocabulary.find(text);
}

int Tokenizer::size() const { return int(impl_->vocabulary.size()); }
std::span<const std::string> Tokenizer::warnings() const { return impl_->warnings; }

}  // namespace sluice
