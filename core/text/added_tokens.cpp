#include "core/text/added_tokens.h"

#include <algorithm>

#include <fmt/format.h>
#include <utf8proc.h>

#include "core/text/unicode_gap.h"
#include "core/text/utf8.h"

namespace sluice {
namespace {

// A matcher walks this far at each place: longer tokens would make long texts slow. Vendors' longest has 45 bytes.
constexpr std::size_t kContentMax = 4096;

bool isSpace(char32_t c) { return contains(whiteSpace(), c); }

bool isWord(char32_t c) {
  switch (utf8proc_category(utf8proc_int32_t(c))) {
    case UTF8PROC_CATEGORY_LU:
    case UTF8PROC_CATEGORY_LL:
    case UTF8PROC_CATEGORY_LT:
    case UTF8PROC_CATEGORY_LM:
    case UTF8PROC_CATEGORY_LO:
    case UTF8PROC_CATEGORY_MN:
    case UTF8PROC_CATEGORY_MC:
    case UTF8PROC_CATEGORY_ME:
    case UTF8PROC_CATEGORY_ND:
    case UTF8PROC_CATEGORY_NL:
    case UTF8PROC_CATEGORY_PC: return true;
    default: return contains(tokenWordGap(), c);
  }
}

bool isBlank(std::string_view text) {
  for (std::size_t i = 0; i < text.size();) {
    const CodePoint c = codePointAt(text, i);
    if (!isSpace(c.value)) return false;
    i += std::size_t(c.bytes);
  }
  return true;
}

}  // namespace

std::uint32_t AddedTokenMatcher::step(std::uint32_t node, unsigned char byte) const {
  const auto& next = nodes_[node].next;
  const auto it = std::lower_bound(next.begin(), next.end(), byte, [](const auto& edge, unsigned char b) { return edge.first < b; });
  return it != next.end() && it->first == byte ? it->second : 0;
}

void AddedTokenMatcher::add(const AddedToken& token, std::string_view content) {
  std::uint32_t node = 0;
  for (const char c : content) {
    const auto byte = static_cast<unsigned char>(c);
    std::uint32_t child = step(node, byte);
    if (child == 0) {
      child = std::uint32_t(nodes_.size());
      nodes_.emplace_back();
      auto& next = nodes_[node].next;
      next.insert(std::lower_bound(next.begin(), next.end(), std::pair(byte, std::uint32_t(0))), {byte, child});
    }
    node = child;
  }
  if (node == 0 || nodes_[node].token >= 0) return;
  nodes_[node].token = std::int32_t(tokens_.size());
  tokens_.push_back(token);
  starts_[static_cast<unsigned char>(content[0])] = true;
}

std::int32_t AddedTokenMatcher::longestAt(std::string_view text, const AuthoredRuns& runs, std::size_t at, std::size_t end) const {
  std::int32_t best = -1;
  std::uint32_t node = 0;
  for (std::size_t i = at; i < end; ++i) {
    node = step(node, static_cast<unsigned char>(text[i]));
    if (node == 0) break;
    const std::int32_t token = nodes_[node].token;
    if (token >= 0 && (tokens_[std::size_t(token)].blank || runs.allMarkup(at, i + 1))) best = token;
  }
  return best;
}

void AddedTokenMatcher::split(std::string_view text, const AuthoredRuns& runs, std::size_t begin, std::size_t end, std::vector<TextPart>& out) const {
  std::size_t done = begin;  // what has been given out
  for (std::size_t at = begin; at < end;) {
    if (!starts_[static_cast<unsigned char>(text[at])]) {
      ++at;
      continue;
    }
    const std::int32_t found = longestAt(text, runs, at, end);
    if (found < 0) {
      ++at;
      continue;
    }
    const AddedToken& token = tokens_[std::size_t(found)];
    std::size_t from = at, to = at;
    for (std::uint32_t node = 0; nodes_[node].token != found; ++to) node = step(node, static_cast<unsigned char>(text[to]));
    at = to;
    if (token.single_word) {
      const bool beside_word = (from > begin && isWord(codePointBefore(text, from).value)) || (to < end && isWord(codePointAt(text, to).value));
      if (beside_word) continue;
    }
    if (token.lstrip) {
      std::size_t left = from;
      while (left > begin) {
        const CodePoint c = codePointBefore(text, left);
        if (!isSpace(c.value)) break;
        left -= std::size_t(c.bytes);
      }
      from = std::max(left, done);
    }
    if (token.rstrip) {
      while (to < end) {
        const CodePoint c = codePointAt(text, to);
        if (!isSpace(c.value)) break;
        to += std::size_t(c.bytes);
      }
    }
    if (from >= to) continue;  // all of it was eaten by the rstrip of the one before
    if (done < from) out.push_back({done, from, std::nullopt});
    out.push_back({from, to, token.id});
    done = to;
  }
  if (done < end) out.push_back({done, end, std::nullopt});
}

Result<std::vector<AddedToken>> readAddedTokens(const JsonNode& list, const Vocabulary::Spellings& spellings, std::vector<std::string>& warnings) {
  const std::vector<JsonNode> nodes = TRY(list.elements());
  std::vector<std::string_view> owners(2 * (spellings.size() + nodes.size()));  // by id; Vocabulary::read has kept ids below this
  for (const auto& [spelling, id] : spellings) owners[id.value()] = spelling;
  std::vector<AddedToken> tokens;
  std::unordered_map<std::string_view, std::uint32_t> seen;
  for (const JsonNode& node : nodes) {
    const JsonNode content_node = TRY(node.member("content"));
    const std::string_view content = TRY(content_node.string());
    const JsonNode id_node = TRY(node.member("id"));
    std::uint32_t id = TRY(id_node.id());
    if (content.empty()) return content_node.corrupt("an added token without content would match everywhere");
    if (content.size() > kContentMax) return content_node.unsupported(fmt::format("an added token of {} bytes, this build reads {} at most", content.size(), kContentMax));
    if (id >= owners.size())
      return id_node.corrupt(fmt::format("the id of '{}' is {}, while the file has {} tokens in all: the table would be mostly holes", content, id, owners.size() / 2));
    if (!owners[id].empty() && owners[id] != content) return id_node.corrupt(fmt::format("the id {} of '{}' belongs to '{}'", id, content, owners[id]));
    if (const auto word = spellings.find(content); word != spellings.end() && word->second.value() != id) {
      warnings.push_back(id_node.corrupt(fmt::format("'{}' has id {} here and {} in the vocabulary, which counts", content, id, word->second.value())).what);
      id = word->second.value();
    }
    if (const auto [before, fresh] = seen.emplace(content, id); !fresh) return content_node.corrupt(fmt::format("'{}' is there twice", content));
    owners[id] = content;
    AddedToken token;
    token.id = TokenId(id);
    token.content = content;
    token.special = TRY(node.flag("special", false));
    token.normalized = TRY(node.flag("normalized", !token.special));
    token.single_word = TRY(node.flag("single_word", false));
    token.lstrip = TRY(node.flag("lstrip", false));
    token.rstrip = TRY(node.flag("rstrip", false));
    token.blank = isBlank(content);
    tokens.push_back(std::move(token));
  }
  return tokens;
}

}  // namespace sluice
