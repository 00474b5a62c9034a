#include "core/run/grammar/string_pattern.h"

#include <algorithm>
#include <string>

namespace sluice {
namespace {

constexpr int kNestingMax = 64;
constexpr int kRepeatMax = 4096;
constexpr std::uint32_t kLast = 0x10ffff;

// Sorted, joined, surrogates cut out.
CodePointRanges normalised(CodePointRanges ranges, bool negated) {
  std::sort(ranges.begin(), ranges.end());
  CodePointRanges out;
  if (!negated) {
    for (const auto& [first, last] : ranges) {
      if (!out.empty() && first <= out.back().second + 1) {
        out.back().second = std::max(out.back().second, last);
      } else {
        out.emplace_back(first, last);
      }
    }
    return out;
  }
  std::uint32_t next = 0;
  for (const auto& [first, last] : ranges) {
    if (first > next) out.emplace_back(next, first - 1);
    next = std::max(next, last + 1);
  }
  if (next <= kLast) out.emplace_back(next, kLast);
  return out;
}

const char* shortEscape(std::uint32_t c) {
  switch (c) {
    case '"': return "\\\"";
    case '\\': return "\\\\";
    case '\b': return "\\b";
    case '\f': return "\\f";
    case '\n': return "\\n";
    case '\r': return "\\r";
    case '\t': return "\\t";
    default: return nullptr;
  }
}

CodePointRanges classOf(char letter) {
  switch (letter) {
    case 'd':
    case 'D': return {{'0', '9'}};
    case 'w':
    case 'W': return {{'0', '9'}, {'A', 'Z'}, {'_', '_'}, {'a', 'z'}};
    case 's':
    case 'S': return {{'\t', '\r'}, {' ', ' '}, {0xa0, 0xa0}, {0x1680, 0x1680}, {0x2000, 0x200a}, {0x2028, 0x2029}, {0x202f, 0x202f}, {0x205f, 0x205f}, {0x3000, 0x3000}, {0xfeff, 0xfeff}};
    default: return {};
  }
}

class PatternCompiler {
 public:
  PatternCompiler(Grammar& grammar, std::string_view pattern) : grammar_(grammar), text_(pattern) {}

  // The pattern's alternatives, each between ".*" where it is not anchored.
  Result<Grammar::NodeId> compile() {
    const Grammar::NodeId anything = grammar_.repeat(anyStringCharacter(grammar_), 0, -1);
    std::vector<Grammar::NodeId> ways;
    do {
      std::vector<Grammar::NodeId> parts;
      if (!take('^')) parts.push_back(anything);
      parts.push_back(TRY(sequenceOf(0)));
      if (!take('$')) parts.push_back(anything);
      if (at_ < text_.size() && peek() != '|') return fault(peek() == ')' ? "')' without '('" : "'^' and '$' are read at the ends of the pattern only");
      ways.push_back(grammar_.sequence(std::move(parts)));
    } while (take('|'));
    return grammar_.choice(std::move(ways));
  }

 private:
  Error fault(const std::string& what) const {
    return Error{Errc::BadRequest, "pattern \"" + std::string(text_) + "\", at byte " + std::to_string(at_) + ": " + what};
  }
  char peek(std::size_t ahead = 0) const { return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0'; }
  bool take(char c) {
    if (at_ >= text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }

  Result<Grammar::NodeId> alternatives(int depth) {
    std::vector<Grammar::NodeId> ways;
    do {
      ways.push_back(TRY(sequenceOf(depth)));
    } while (take('|'));
    return grammar_.choice(std::move(ways));
  }

  Result<Grammar::NodeId> sequenceOf(int depth) {
    if (depth > kNestingMax) return fault("groups nest deeper than " + std::to_string(kNestingMax));
    std::vector<Grammar::NodeId> parts;
    while (at_ < text_.size() && peek() != '|' && peek() != ')' && peek() != '$' && peek() != '^') parts.push_back(TRY(quantified(depth)));
    return grammar_.sequence(std::move(parts));
  }

  Result<Grammar::NodeId> quantified(int depth) {
    Grammar::NodeId node = TRY(atom(depth));
    int min = 1, max = 1;
    if (take('*')) {
      min = 0, max = -1;
    } else if (take('+')) {
      max = -1;
    } else if (take('?')) {
      min = 0;
    } else if (peek() == '{' && peek(1) >= '0' && peek(1) <= '9') {
      ++at_;
      min = max = TRY(count());
      if (take(',')) max = (peek() == '}') ? -1 : TRY(count());
      if (!take('}')) return fault("'}' was expected");
      if (max >= 0 && max < min) return fault("the repetition ends below where it begins");
    } else {
      return node;
    }
    take('?');  // lazy or greedy is the same language
    if (peek() == '*' || peek() == '+') return fault("possessive or doubled quantifiers are not read");
    return grammar_.repeat(node, min, max);
  }

  Result<int> count() {
    int n = 0;
    const std::size_t begin = at_;
    while (peek() >= '0' && peek() <= '9' && n <= kRepeatMax) n = n * 10 + (text_[at_++] - '0');
    if (at_ == begin) return fault("a number was expected");
    if (n > kRepeatMax) return fault("a repetition is counted up to " + std::to_string(kRepeatMax));
    return n;
  }

  Result<Grammar::NodeId> atom(int depth) {
    const char c = peek();
    if (c == '(') {
      ++at_;
      if (peek() == '?') {
        if (peek(1) == ':') {
          at_ += 2;
        } else if (peek(1) == '<' && peek(2) != '=' && peek(2) != '!') {
          while (at_ < text_.size() && peek() != '>') ++at_;
          ++at_;
        } else {
          return fault("look-around is not a regular language and is not read");
        }
      }
      const Grammar::NodeId inner = TRY(alternatives(depth + 1));
      if (!take(')')) return fault(peek() == '^' || peek() == '$' ? "'^' and '$' are read at the ends of the pattern only" : "')' was expected");
      return inner;
    }
    if (c == '[') return charClass();
    if (c == '.') {
      ++at_;
      return stringCharacter(grammar_, {{'\n', '\n'}, {'\r', '\r'}, {0x2028, 0x2029}}, true);
    }
    if (c == '\\') {
      const char letter = peek(1);
      const CodePointRanges set = classOf(letter);
      if (!set.empty()) {
        at_ += 2;
        return stringCharacter(grammar_, set, letter < 'a');
      }
      const std::uint32_t point = TRY(escape());
      return stringCharacter(grammar_, {{point, point}}, false);
    }
    if (c == '*' || c == '+' || c == '?') return fault("nothing to repeat");
    const std::uint32_t point = TRY(codePoint());
    return stringCharacter(grammar_, {{point, point}}, false);
  }

  Result<std::uint32_t> codePoint() {
    const auto lead = std::uint8_t(text_[at_]);
    const int length = lead < 0x80 ? 1 : (lead >> 5) == 6 ? 2 : (lead >> 4) == 14 ? 3 : (lead >> 3) == 30 ? 4 : 0;
    if (length == 0 || at_ + std::size_t(length) > text_.size()) return fault("the pattern is not UTF-8");
    std::uint32_t c = length == 1 ? lead : lead & (0x7fu >> length);
    for (int i = 1; i < length; ++i) c = c << 6 | (std::uint8_t(text_[at_ + std::size_t(i)]) & 63u);
    at_ += std::size_t(length);
    return c;
  }

  Result<std::uint32_t> escape() {
    ++at_;
    if (at_ >= text_.size()) return fault("the pattern ends in '\\'");
    const char c = text_[at_++];
    switch (c) {
      case 'n': return std::uint32_t('\n');
      case 'r': return std::uint32_t('\r');
      case 't': return std::uint32_t('\t');
      case 'f': return std::uint32_t('\f');
      case 'v': return std::uint32_t('\v');
      case '0': return 0u;
      case 'x': return hex(2);
      case 'u': return hex(4);
      default: break;
    }
    if (c == 'b' || c == 'B') return fault("word boundaries are not read");
    if (c >= '1' && c <= '9') return fault("back references are not a regular language and are not read");
    if (c == 'p' || c == 'P') return fault("Unicode properties are not read; name the ranges");
    if ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z')) return fault(std::string("unknown escape '\\") + c + "'");
    --at_;
    return codePoint();
  }

  Result<std::uint32_t> hex(int digits) {
    std::uint32_t v = 0;
    for (int i = 0; i < digits; ++i, ++at_) {
      const char c = peek();
      const int d = (c >= '0' && c <= '9') ? c - '0' : (c >= 'a' && c <= 'f') ? c - 'a' + 10 : (c >= 'A' && c <= 'F') ? c - 'A' + 10 : -1;
      if (d < 0) return fault(std::to_string(digits) + " hexadecimal digits were expected");
      v = v << 4 | std::uint32_t(d);
    }
    return v;
  }

  Result<Grammar::NodeId> charClass() {
    ++at_;
    const bool negated = take('^');
    CodePointRanges ranges;
    while (!take(']')) {
      if (at_ >= text_.size()) return fault("']' was expected");
      const char letter = peek() == '\\' ? peek(1) : '\0';
      if (const CodePointRanges set = classOf(letter); !set.empty()) {
        at_ += 2;
        const CodePointRanges all = normalised(set, letter < 'a');
        ranges.insert(ranges.end(), all.begin(), all.end());
        continue;
      }
      const std::uint32_t first = TRY(classPoint());
      std::uint32_t last = first;
      if (peek() == '-' && peek(1) != ']' && at_ + 1 < text_.size()) {
        ++at_;
        last = TRY(classPoint());
      }
      if (last < first) return fault("a class range ends below where it begins");
      ranges.emplace_back(first, last);
    }
    return stringCharacter(grammar_, std::move(ranges), negated);
  }

  Result<std::uint32_t> classPoint() {
    if (peek() == '\\' && peek(1) == 'b') {
      at_ += 2;
      return std::uint32_t('\b');
    }
    return peek() == '\\' ? escape() : codePoint();
  }

  Grammar& grammar_;
  std::string_view text_;
  std::size_t at_ = 0;
};

}  // namespace

Grammar::NodeId stringCharacter(Grammar& grammar, CodePointRanges ranges, bool negated) {
  std::vector<Grammar::NodeId> ways;
  const auto plain = [&](std::uint32_t first, std::uint32_t last) {
    if (first <= last) ways.push_back(grammar.codePoints(first, last));
  };
  for (const auto& [first, last] : normalised(std::move(ranges), negated)) {
    for (std::uint32_t c = first; c <= std::min(last, std::uint32_t('\\')); ++c) {
      if (const char* spelled = shortEscape(c)) {
        ways.push_back(grammar.literal(spelled));
      } else if (c < 0x20) {
        static constexpr char kHex[] = "0123456789abcdef";
        ways.push_back(grammar.literal(std::string("\\u00") + kHex[c >> 4] + kHex[c & 15]));
      }
    }
    // Everything else as itself: the gaps between the quote and the backslash.
    plain(std::max(first, 0x20u), std::min(last, 0x21u));
    plain(std::max(first, 0x23u), std::min(last, 0x5bu));
    plain(std::max(first, 0x5du), last);
  }
  return ways.empty() ? grammar.bytes(ByteSet{}) : grammar.choice(std::move(ways));
}

Grammar::NodeId anyStringCharacter(Grammar& grammar) {
  const auto oneOf = [&](std::string_view chars) {
    ByteSet set;
    for (const char c : chars) set.set(std::uint8_t(c));
    return grammar.bytes(set);
  };
  const Grammar::NodeId hex = oneOf("0123456789abcdefABCDEF");
  const Grammar::NodeId backslash = oneOf("\\");
  const Grammar::NodeId unit = grammar.choice({
      grammar.sequence({oneOf("0123456789abcefABCEF"), hex, hex, hex}),  // not D...
      grammar.sequence({oneOf("dD"), oneOf("01234567"), hex, hex}),      // D000 to D7FF
      grammar.sequence({oneOf("dD"), oneOf("89abAB"), hex, hex, backslash, oneOf("u"), oneOf("dD"), oneOf("cdefCDEF"), hex, hex}),
  });
  const Grammar::NodeId escaped = grammar.sequence({backslash, grammar.choice({oneOf("\"\\/bfnrt"), grammar.sequence({oneOf("u"), unit})})});
  return grammar.choice({grammar.codePoints(0x20, 0x21), grammar.codePoints(0x23, 0x5b), grammar.codePoints(0x5d, kLast), escaped});
}

Result<Grammar::NodeId> compilePattern(Grammar& grammar, std::string_view pattern) { return PatternCompiler(grammar, pattern).compile(); }

}  // namespace sluice
