#pragma once
// Added tokens: strings that become one id each, before anything else looks at the text.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/base/ids.h"
#include "core/base/result.h"
#include "core/text/authored_runs.h"
#include "core/text/json_document.h"
#include "core/text/vocab.h"

namespace sluice {

struct AddedToken {
  TokenId id;
  std::string content;
  bool single_word = false;  // not beside a word character
  bool lstrip = false;       // eats white space before it
  bool rstrip = false;       // and after it
  bool normalized = false;   // looked for in the normalised text
  bool special = false;      // control, in the file's words
  bool blank = false;        // white space alone: text, whoever writes it
};

/// A stretch of text: an added token, or text between two.
struct TextPart {
  std::size_t begin, end;
  std::optional<TokenId> token;
};

/// Finds one pass's tokens in a text. Built once, then read from any thread.
class AddedTokenMatcher {
 public:
  /// Among tokens of equal content the first wins. `content` is what to look for, which is normalised where the pass is.
  void add(const AddedToken& token, std::string_view content);
  /// Cuts text[begin, end) at the tokens in it, leftmost first, the longest of those that start there; appends to `out`. Only where `runs`
  /// says markup, blank tokens aside. lstrip, rstrip and single_word look at the neighbours within [begin, end), whoever wrote them.
  void split(std::string_view text, const AuthoredRuns& runs, std::size_t begin, std::size_t end, std::vector<TextPart>& out) const;
  bool empty() const { return tokens_.empty(); }

 private:
  struct Node {
    std::vector<std::pair<unsigned char, std::uint32_t>> next;  // ascending by byte
    std::int32_t token = -1;
  };
  std::uint32_t step(std::uint32_t node, unsigned char byte) const;
  std::int32_t longestAt(std::string_view text, const AuthoredRuns& runs, std::size_t at, std::size_t end) const;

  std::vector<AddedToken> tokens_;
  std::vector<Node> nodes_{Node()};
  bool starts_[256] = {};
};

/// The tokens of `added_tokens`, with their ids settled against the model's words: content that the model has takes the model's id.
/// errors  Corrupt: empty or repeated content, an id that another token has, an id that leaves most of the table empty
Result<std::vector<AddedToken>> readAddedTokens(const JsonNode& list, const Vocabulary::Spellings& spellings, std::vector<std::string>& warnings);

}  // namespace sluice
