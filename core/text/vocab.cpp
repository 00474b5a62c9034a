#include "core/text/vocab.h"

#include <algorithm>
#include <bit>
#include <functional>

#include <fmt/format.h>

#include "core/text/byte_alphabet.h"
#include "core/text/utf8.h"

namespace sluice {
namespace {

// The longest word of a published vocabulary has 512 bytes (128 spaces in o200k have 128).
constexpr std::size_t kWordMax = 1 << 20;

bool isNeverInUtf8(int byte) { return byte == 0xC0 || byte == 0xC1 || byte >= 0xF5; }

std::size_t hashOf(std::string_view bytes) { return std::hash<std::string_view>()(bytes); }

}  // namespace

Result<Vocabulary> Vocabulary::read(const JsonNode& vocab, std::size_t added_count, Spellings& spellings) {
  simdjson::dom::object object;
  if (vocab.raw().get(object) != simdjson::SUCCESS) return vocab.corrupt(fmt::format("{} where an object of words must be", kindOf(vocab.raw())));
  std::size_t count = 0;
  for ([[maybe_unused]] const auto field : object) ++count;  // size() saturates
  // A table sized by the largest id must not be mostly holes: one bad id would buy gigabytes.
  const std::size_t size_max = 2 * (count + added_count);
  Vocabulary v;
  v.slots_.assign(std::bit_ceil(2 * count + 2), 0);
  spellings.reserve(count);
  std::vector<TokenId> verbatim;  // no spelling of bytes: a control token's text
  std::string bytes;
  for (const auto field : object) {
    const auto word = [&] { return vocab.sibling(field.value, fmt::format("{}['{}']", vocab.place(), field.key)); };
    if (const std::size_t at = utf8FaultAt(field.key); at != std::string_view::npos)
      return vocab.corrupt(fmt::format("word number {} has half a surrogate pair at its byte {}", spellings.size(), at));
    if (field.key.size() > kWordMax) return vocab.corrupt(fmt::format("word number {} has {} bytes, this build reads {} at most", spellings.size(), field.key.size(), kWordMax));
    if (field.key.empty()) return vocab.corrupt(fmt::format("word number {} is empty", spellings.size()));
    const Result<std::uint32_t> id = vocab.sibling(field.value, std::string()).id();
    if (!id.ok()) return word().id().error();
    const TokenId token(id.value());
    if (token.value() >= size_max)
      return word().corrupt(fmt::format("its id is {}, while the file has {} tokens in all: the table would be mostly holes", token.value(), count + added_count));
    if (!spellings.emplace(field.key, token).second) return word().corrupt("the word is there twice");
    if (v.names(token)) return word().corrupt(fmt::format("its id {} belongs to another word already", token.value()));
    bytes.clear();
    const bool spelled = unspell(field.key, bytes);
    v.name(token, spelled ? std::string_view(bytes) : field.key);
    if (spelled) v.index(token);
    else verbatim.push_back(token);
  }
  // Last: spelled words are what text becomes, should a verbatim one have the same bytes.
  for (const TokenId token : verbatim) v.index(token);
  v.byte_tokens_.fill(TokenId(0xFFFFFFFF));  // names nothing
  for (int byte = 0; byte < 256; ++byte) {
    std::string letter;
    appendUtf8(letter, letterOf(static_cast<unsigned char>(byte)));
    const auto it = spellings.find(letter);
    if (it == spellings.end() && isNeverInUtf8(byte)) continue;  // GPT-NeoX's table has no words for these 13
    if (it == spellings.end()) return vocab.corrupt(fmt::format("no word for byte 0x{:02X} ('{}'): it would vanish from every text", byte, letter));
    v.byte_tokens_[std::size_t(byte)] = it->second;
  }
  return v;
}

void Vocabulary::name(TokenId id, std::string_view bytes) {
  if (id.value() >= spans_.size()) spans_.resize(std::size_t(id.value()) + 1);
  Span& s = spans_[id.value()];
  s.begin = bytes_.size();
  s.length = bytes.size();
  s.named = 1;
  bytes_ += bytes;
}

void Vocabulary::add(TokenId id, std::string_view content) {
  if (names(id) && bytesOf(id) == content) return;
  name(id, content);
}

void Vocabulary::index(TokenId id) {
  const std::string_view bytes = bytesOf(id);
  std::size_t slot = hashOf(bytes) & (slots_.size() - 1);
  while (slots_[slot] != 0) {
    if (bytesOf(TokenId(slots_[slot] - 1)) == bytes) return;
    slot = (slot + 1) & (slots_.size() - 1);
  }
  slots_[slot] = id.value() + 1;
}

std::optional<TokenId> Vocabulary::find(std::string_view bytes) const {
  for (std::size_t slot = hashOf(bytes) & (slots_.size() - 1); slots_[slot] != 0; slot = (slot + 1) & (slots_.size() - 1)) {
    const TokenId id(slots_[slot] - 1);
    if (bytesOf(id) == bytes) return id;
  }
  return std::nullopt;
}

std::size_t Vocabulary::holes() const {
  return std::size_t(std::count_if(spans_.begin(), spans_.end(), [](const Span& s) { return s.named == 0; }));
}

}  // namespace sluice
