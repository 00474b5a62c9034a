#include "core/run/grammar/gbnf.h"

#include <algorithm>
#include <map>
#include <optional>

namespace sluice {
namespace {

constexpr int kNestingMax = 128;
constexpr int kRepeatMax = 4096;

bool isNameByte(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_'; }

class GbnfParser {
 public:
  explicit GbnfParser(std::string_view text) : text_(text) {}

  Result<std::shared_ptr<const Grammar>> parse() {
    skipBlank(true);
    while (at_ < text_.size()) {
      TRY(rule());
      skipBlank(true);
    }
    const auto root = rules_.find("root");
    if (root == rules_.end()) return Error{Errc::BadRequest, "grammar: there is no rule 'root', where every grammar begins"};
    std::vector<std::pair<std::string, Grammar::NodeId>> names(rules_.begin(), rules_.end());
    TRY(grammar_->finish(root->second, names));
    return std::shared_ptr<const Grammar>(std::move(grammar_));
  }

 private:
  Error fault(const std::string& what) const {
    const auto line = 1 + std::count(text_.begin(), text_.begin() + std::ptrdiff_t(std::min(at_, text_.size())), '\n');
    return Error{Errc::BadRequest, "grammar, line " + std::to_string(line) + ": " + what};
  }
  char peek() const { return at_ < text_.size() ? text_[at_] : '\0'; }
  bool take(char c) {
    if (peek() != c || at_ >= text_.size()) return false;
    ++at_;
    return true;
  }
  void skipBlank(bool lines) {
    while (at_ < text_.size()) {
      const char c = text_[at_];
      if (c == '#') {
        while (at_ < text_.size() && text_[at_] != '\n') ++at_;
      } else if (c == ' ' || c == '\t' || c == '\r' || (lines && c == '\n')) {
        ++at_;
      } else {
        return;
      }
    }
  }
  std::string name() {
    const std::size_t begin = at_;
    while (at_ < text_.size() && isNameByte(text_[at_])) ++at_;
    return std::string(text_.substr(begin, at_ - begin));
  }
  Grammar::NodeId ruleNode(const std::string& rule_name) {
    const auto [it, added] = rules_.try_emplace(rule_name, 0);
    if (added) it->second = grammar_->reserve();
    return it->second;
  }

  Result<Done> rule() {
    const std::string rule_name = name();
    if (rule_name.empty()) return fault("a rule's name was expected");
    skipBlank(false);
    if (text_.substr(at_, 3) != "::=") return fault("'::=' was expected after '" + rule_name + "'");
    at_ += 3;
    skipBlank(true);
    const Grammar::NodeId meaning = TRY(alternatives(0));
    if (std::find(defined_.begin(), defined_.end(), rule_name) != defined_.end()) return fault("rule '" + rule_name + "' is defined twice");
    defined_.push_back(rule_name);
    grammar_->define(ruleNode(rule_name), meaning);
    if (at_ < text_.size() && peek() != '\n') return fault(std::string("unexpected '") + peek() + "'");
    return Done{};
  }

  Result<Grammar::NodeId> alternatives(int depth) {
    if (depth > kNestingMax) return fault("parentheses nest deeper than " + std::to_string(kNestingMax));
    std::vector<Grammar::NodeId> ways{TRY(sequenceOf(depth))};
    for (;;) {
      skipBlank(depth > 0);
      const std::size_t before = at_;
      skipBlank(true);  // a line may begin with '|'
      if (!take('|')) {
        at_ = before;
        break;
      }
      skipBlank(true);
      ways.push_back(TRY(sequenceOf(depth)));
    }
    return grammar_->choice(std::move(ways));
  }

  Result<Grammar::NodeId> sequenceOf(int depth) {
    std::vector<Grammar::NodeId> parts;
    for (;;) {
      skipBlank(depth > 0);
      const std::optional<Grammar::NodeId> part = TRY(atom(depth));
      if (!part) break;
      parts.push_back(TRY(repeated(*part)));
    }
    return grammar_->sequence(std::move(parts));
  }

  Result<std::optional<Grammar::NodeId>> atom(int depth) {
    const char c = peek();
    if (c == '"') return std::optional(TRY(quoted()));
    if (c == '[') return std::optional(TRY(charClass()));
    if (c == '.') {
      ++at_;
      return std::optional(grammar_->codePoints(0, 0x10ffff));
    }
    if (c == '(') {
      ++at_;
      skipBlank(true);
      const Grammar::NodeId inner = TRY(alternatives(depth + 1));
      skipBlank(true);
      if (!take(')')) return fault("')' was expected");
      return std::optional(inner);
    }
    if (isNameByte(c) && at_ < text_.size()) {
      const std::size_t before = at_;
      const std::string rule_name = name();
      const std::size_t after = at_;
      skipBlank(false);
      if (text_.substr(at_, 3) == "::=") {  // the next rule begins here
        at_ = before;
        return std::optional<Grammar::NodeId>();
      }
      at_ = after;
      return std::optional(ruleNode(rule_name));
    }
    return std::optional<Grammar::NodeId>();
  }

  Result<Grammar::NodeId> repeated(Grammar::NodeId node) {
    for (;;) {
      if (take('*')) {
        node = grammar_->repeat(node, 0, -1);
      } else if (take('+')) {
        node = grammar_->repeat(node, 1, -1);
      } else if (take('?')) {
        node = grammar_->repeat(node, 0, 1);
      } else if (take('{')) {
        const int min = TRY(count());
        int max = min;
        if (take(',')) max = (peek() == '}') ? -1 : TRY(count());
        if (!take('}')) return fault("'}' was expected");
        if (max >= 0 && max < min) return fault("{" + std::to_string(min) + "," + std::to_string(max) + "} ends below where it begins");
        node = grammar_->repeat(node, min, max);
      } else {
        return node;
      }
    }
  }

  Result<int> count() {
    int n = 0;
    const std::size_t begin = at_;
    while (peek() >= '0' && peek() <= '9' && n <= kRepeatMax) n = n * 10 + (text_[at_++] - '0');
    if (at_ == begin) return fault("a number was expected");
    if (n > kRepeatMax) return fault("a repetition is counted up to " + std::to_string(kRepeatMax));
    return n;
  }

  Result<std::uint32_t> codePoint() {
    const auto lead = std::uint8_t(text_[at_]);
    if (lead == '\\') return escape();
    const int length = lead < 0x80 ? 1 : (lead >> 5) == 6 ? 2 : (lead >> 4) == 14 ? 3 : (lead >> 3) == 30 ? 4 : 0;
    if (length == 0 || at_ + std::size_t(length) > text_.size()) return fault("the text is not UTF-8");
    std::uint32_t c = length == 1 ? lead : lead & (0x7fu >> length);
    for (int i = 1; i < length; ++i) {
      const auto next = std::uint8_t(text_[at_ + std::size_t(i)]);
      if ((next & 0xc0) != 0x80) return fault("the text is not UTF-8");
      c = c << 6 | (next & 63u);
    }
    at_ += std::size_t(length);
    return c;
  }

  Result<std::uint32_t> escape() {
    ++at_;
    const char c = peek();
    ++at_;
    switch (c) {
      case 'n': return std::uint32_t('\n');
      case 'r': return std::uint32_t('\r');
      case 't': return std::uint32_t('\t');
      case 'x': return hex(2);
      case 'u': return hex(4);
      case 'U': return hex(8);
      case '"':
      case '\\':
      case '[':
      case ']':
      case '^':
      case '-': return std::uint32_t(c);
      default: return fault(std::string("unknown escape '\\") + c + "'");
    }
  }

  Result<std::uint32_t> hex(int digits) {
    std::uint32_t v = 0;
    for (int i = 0; i < digits; ++i) {
      const char c = peek();
      const int d = (c >= '0' && c <= '9') ? c - '0' : (c >= 'a' && c <= 'f') ? c - 'a' + 10 : (c >= 'A' && c <= 'F') ? c - 'A' + 10 : -1;
      if (d < 0) return fault(std::to_string(digits) + " hexadecimal digits were expected");
      v = v << 4 | std::uint32_t(d);
      ++at_;
    }
    if (v > 0x10ffff || (v >= 0xd800 && v <= 0xdfff)) return fault("no such code point");
    return v;
  }

  Result<Grammar::NodeId> quoted() {
    ++at_;
    std::vector<Grammar::NodeId> parts;
    while (!take('"')) {
      if (at_ >= text_.size() || peek() == '\n') return fault("a closing '\"' was expected");
      const std::uint32_t c = TRY(codePoint());
      parts.push_back(grammar_->codePoints(c, c));
    }
    return grammar_->sequence(std::move(parts));
  }

  Result<Grammar::NodeId> charClass() {
    ++at_;
    const bool negated = take('^');
    std::vector<std::pair<std::uint32_t, std::uint32_t>> ranges;
    while (!take(']')) {
      if (at_ >= text_.size() || peek() == '\n') return fault("a closing ']' was expected");
      const std::uint32_t first = TRY(codePoint());
      std::uint32_t last = first;
      if (peek() == '-' && at_ + 1 < text_.size() && text_[at_ + 1] != ']') {
        ++at_;
        last = TRY(codePoint());
      }
      if (last < first) return fault("a class range ends below where it begins");
      ranges.emplace_back(first, last);
    }
    return classNode(*grammar_, std::move(ranges), negated);
  }

 public:
  /// A node for a class of code points.
  static Grammar::NodeId classNode(Grammar& grammar, std::vector<std::pair<std::uint32_t, std::uint32_t>> ranges, bool negated) {
    std::sort(ranges.begin(), ranges.end());
    std::vector<Grammar::NodeId> ways;
    std::uint32_t next = 0;
    for (const auto& [first, last] : ranges) {
      if (negated) {
        if (first > next) ways.push_back(grammar.codePoints(next, first - 1));
        next = std::max(next, last + 1);
      } else {
        ways.push_back(grammar.codePoints(first, last));
      }
    }
    if (negated && next <= 0x10ffff) ways.push_back(grammar.codePoints(next, 0x10ffff));
    return ways.empty() ? grammar.bytes(ByteSet{}) : grammar.choice(std::move(ways));
  }

 private:
  std::string_view text_;
  std::size_t at_ = 0;
  std::shared_ptr<Grammar> grammar_ = std::make_shared<Grammar>();
  std::map<std::string, Grammar::NodeId> rules_;
  std::vector<std::string> defined_;
};

}  // namespace

Result<std::shared_ptr<const Grammar>> parseGbnf(std::string_view text) { return GbnfParser(text).parse(); }

}  // namespace sluice
