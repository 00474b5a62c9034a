#include "core/text/regex_rewrite.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/text/unicode_gap.h"
#include "core/text/utf8.h"

namespace sluice {
namespace {

void appendRange(std::string& out, CodeRange r) {
  out += r.first == r.last ? fmt::format("\\x{{{:X}}}", std::uint32_t(r.first)) : fmt::format("\\x{{{:X}}}-\\x{{{:X}}}", std::uint32_t(r.first), std::uint32_t(r.last));
}

std::string bodyOf(std::string_view pcre, std::span<const CodeRange> ranges) {
  std::string out(pcre);
  for (const CodeRange& r : ranges) appendRange(out, r);
  return out;
}

// What \p{C} is the complement of: PCRE2's own C still holds what Unicode 15 and 16 assigned.
std::string assignedBody() {
  std::string out;
  for (const char* name : {"L", "M", "N", "P", "S", "Z"}) out += classBody(name);
  return out;
}

// Word characters to a \w or \b outside of [ ] alone.
constexpr std::string_view kLoneWords = "\\x{B2}\\x{B3}\\x{B9}\\x{BC}-\\x{BE}";
constexpr std::string_view kHexDigits = "0-9A-Fa-f";
// Nested groups beyond this are nobody's pattern, and deep ones cost the compiler stack.
constexpr std::size_t kGroupsMax = 100;

bool isLetterOrDigit(char32_t c) { return ('0' <= c && c <= '9') || ('A' <= c && c <= 'Z') || ('a' <= c && c <= 'z'); }
bool isDigit(char c) { return '0' <= c && c <= '9'; }

// A set of characters inside [ ] or as an escape: a body, or the complement of one.
struct Set {
  std::string body;
  bool negated = false;
};

class Rewriter {
 public:
  explicit Rewriter(std::string_view pattern) : in_(pattern) {}
  Result<std::string> run();

 private:
  struct Group {
    std::size_t out_start;  // where its "(" stands in out_
    int closes_extra = 0;   // groups opened for inline options inside it
  };
  Error unsupported(std::string_view what, std::size_t at) const {
    return Error{Errc::Unsupported, fmt::format("the pattern has {} at its byte {}, which this build does not read", what, at)};
  }
  Error broken(std::string_view what, std::size_t at) const { return Error{Errc::Corrupt, fmt::format("the pattern has {} at its byte {}", what, at)}; }
  bool more() const { return at_ < in_.size(); }
  bool next(std::string_view s) const { return in_.substr(at_).starts_with(s); }
  void atom(std::string_view text) {
    atom_start_ = out_.size();
    out_ += text;
    has_atom_ = true;
  }
  void assertion(std::string_view text) {
    out_ += text;
    has_atom_ = false;
  }

  Result<Done> element();
  Result<Done> open();
  Result<Done> inlineOptions(std::size_t start);
  Result<Done> close();
  Result<Done> quantifier();
  Result<bool> interval(std::string& text);
  Result<Done> escape();
  Result<Done> charClass();
  Result<std::optional<Set>> setEscape(char letter, bool in_class, std::size_t start);
  Result<std::optional<char32_t>> charEscape(char letter, std::size_t start);
  Result<char32_t> hexValue(std::size_t digits_max, bool braces, std::size_t start);
  static std::string classOf(const std::string& body, const std::vector<std::string>& complements, bool negated);

  std::string_view in_;
  std::size_t at_ = 0;
  std::string out_;
  std::vector<Group> groups_{Group{0}};
  std::size_t atom_start_ = 0;
  bool has_atom_ = false;  // something stands before that a quantifier may repeat
};

Result<std::string> Rewriter::run() {
  while (more()) TRY(element());
  if (groups_.size() > 1) return broken("a group that is never closed", in_.size());
  out_.append(std::size_t(groups_.back().closes_extra), ')');
  return std::move(out_);
}

Result<Done> Rewriter::element() {
  const char c = in_[at_];
  switch (c) {
    case '(': return open();
    case ')': return close();
    case '[': return charClass();
    case '\\': return escape();
    case '*':
    case '+':
    case '?':
    case '{': return quantifier();
    case '|':
      assertion("|");  // an inline option goes on: there, a(?i)b|c is a(?i:b|c)
      ++at_;
      return Done{};
    case '^':
    case '$':
      assertion(std::string_view(&c, 1));
      ++at_;
      return Done{};
    default: {
      const CodePoint p = codePointAt(in_, at_);
      atom(in_.substr(at_, std::size_t(p.bytes)));
      at_ += std::size_t(p.bytes);
      return Done{};
    }
  }
}

Result<Done> Rewriter::open() {
  const std::size_t start = at_;
  if (groups_.size() >= kGroupsMax) return unsupported(fmt::format("groups nested deeper than {}", kGroupsMax), start);
  ++at_;
  if (next("*")) return unsupported("a callout (*", start);
  if (!next("?")) {
    groups_.push_back({out_.size()});
    out_ += "(?:";  // nothing refers to captures, and none costs less
    has_atom_ = false;
    return Done{};
  }
  for (const std::string_view kind : {"?:", "?=", "?!", "?>", "?<=", "?<!"})
    if (next(kind)) {
      groups_.push_back({out_.size()});
      out_ += '(';
      out_ += kind;
      at_ += kind.size();
      has_atom_ = false;
      return Done{};
    }
  if (next("?<") || next("?'")) return unsupported("a named group", start);
  if (next("?~")) return unsupported("an absent operator (?~", start);
  if (next("?#")) return unsupported("a comment (?#", start);
  if (next("?(")) return unsupported("a conditional (?(", start);
  return inlineOptions(start);
}

Result<Done> Rewriter::inlineOptions(std::size_t start) {
  ++at_;  // the ?
  std::string options;
  for (; more() && in_[at_] != ':' && in_[at_] != ')'; ++at_) {
    const char c = in_[at_];
    if (c == 'i' || c == '-') options += c;
    else if (c == 'm') options += 's';  // there: the dot takes newlines
    else return unsupported(fmt::format("a group option '{}'", isLetterOrDigit(static_cast<unsigned char>(c)) ? in_.substr(at_, 1) : "?"), start);
  }
  if (!more()) return broken("a group that is never closed", start);
  const bool to_the_end = in_[at_] == ')';
  ++at_;
  if (to_the_end) {
    ++groups_.back().closes_extra;
    if (groups_.back().closes_extra > int(kGroupsMax)) return unsupported("too many inline options", start);
  } else {
    groups_.push_back({out_.size()});
  }
  out_ += "(?" + options + ":";
  has_atom_ = false;
  return Done{};
}

Result<Done> Rewriter::close() {
  if (groups_.size() == 1) return broken("a ) that closes nothing", at_);
  const Group group = groups_.back();
  groups_.pop_back();
  out_.append(std::size_t(group.closes_extra) + 1, ')');
  atom_start_ = group.out_start;
  has_atom_ = true;
  ++at_;
  return Done{};
}

// {n}, {n,}, {n,m}, {,n} at at_; false, and nothing taken, if the brace is a plain character.
Result<bool> Rewriter::interval(std::string& text) {
  const std::size_t close_at = in_.find('}', at_);
  if (close_at == std::string_view::npos) return false;
  const std::string_view inside = in_.substr(at_ + 1, close_at - at_ - 1);
  const std::size_t comma = inside.find(',');
  const std::string_view low = inside.substr(0, comma), high = comma == std::string_view::npos ? low : inside.substr(comma + 1);
  const auto number = [](std::string_view s) { return s.size() <= 5 && std::all_of(s.begin(), s.end(), isDigit); };
  if (!number(low) || !number(high) || (low.empty() && high.empty())) return false;
  text = comma == std::string_view::npos ? fmt::format("{{{}}}", low) : fmt::format("{{{},{}}}", low.empty() ? "0" : low, high);
  at_ = close_at + 1;
  return true;
}

Result<Done> Rewriter::quantifier() {
  const std::size_t start = at_;
  std::string text(1, in_[at_]);
  const bool braces = in_[at_] == '{';
  if (braces) {
    if (!TRY(interval(text))) {
      atom("\\{");
      ++at_;
      return Done{};
    }
  } else {
    ++at_;
  }
  if (!has_atom_) return broken("a quantifier with nothing to repeat", start);
  has_atom_ = false;
  out_ += text;
  if (!more() || (in_[at_] != '?' && in_[at_] != '+')) return Done{};
  const char suffix = in_[at_];
  ++at_;
  // After braces + repeats the repeat and does not make it possessive; after {n} a ? makes it optional, not lazy.
  const bool wraps = braces && (suffix == '+' || text.find(',') == std::string::npos);
  if (wraps) {
    out_.insert(atom_start_, "(?:");
    out_ += ')';
  }
  out_ += suffix;
  return Done{};
}

Result<char32_t> Rewriter::hexValue(std::size_t digits_max, bool braces, std::size_t start) {
  const std::size_t end = braces ? in_.find('}', at_) : std::min(in_.size(), at_ + digits_max);
  if (end == std::string_view::npos) return broken("\\x{ without }", start);
  const std::string_view digits = in_.substr(at_, end - at_);
  std::uint32_t value = 0;
  const auto [rest, fault] = std::from_chars(digits.data(), digits.data() + digits.size(), value, 16);
  if (digits.empty() || fault != std::errc() || rest != digits.data() + digits.size() || value > 0x10FFFF || (0xD800 <= value && value < 0xE000))
    return broken("an escape that names no character", start);
  at_ = end + (braces ? 1 : 0);
  return char32_t(value);
}

// An escape that stands for one character, valid inside and outside of classes; at_ is behind the letter.
Result<std::optional<char32_t>> Rewriter::charEscape(char letter, std::size_t start) {
  switch (letter) {
    case 'n': return std::optional<char32_t>(0x0A);
    case 'r': return std::optional<char32_t>(0x0D);
    case 't': return std::optional<char32_t>(0x09);
    case 'f': return std::optional<char32_t>(0x0C);
    case 'v': return std::optional<char32_t>(0x0B);
    case 'a': return std::optional<char32_t>(0x07);
    case 'e': return std::optional<char32_t>(0x1B);
    case 'u': return std::optional<char32_t>(TRY(hexValue(4, false, start)));
    case 'x': {
      const bool braces = next("{");
      if (braces) ++at_;
      const char32_t value = TRY(hexValue(2, braces, start));
      if (!braces && value > 0x7F) return unsupported("a raw byte \\x", start);
      return std::optional<char32_t>(value);
    }
    default: break;
  }
  return std::optional<char32_t>();
}

// An escape that stands for a set of characters; at_ is behind the letter.
Result<std::optional<Set>> Rewriter::setEscape(char letter, bool in_class, std::size_t start) {
  switch (letter) {
    case 's':
    case 'S': return std::optional<Set>(Set{spaceBody(), letter == 'S'});
    case 'd':
    case 'D': return std::optional<Set>(Set{classBody("Nd"), letter == 'D'});
    case 'w':
    case 'W': return std::optional<Set>(Set{wordBody() + std::string(in_class ? "" : kLoneWords), letter == 'W'});
    case 'h':
    case 'H': return std::optional<Set>(Set{std::string(kHexDigits), letter == 'H'});
    case 'p':
    case 'P': break;
    default: return std::optional<Set>();
  }
  const std::size_t end = in_.find('}', at_);
  if (!next("{") || end == std::string_view::npos) return broken("\\p without {name}", start);
  std::string_view name = in_.substr(at_ + 1, end - at_ - 1);
  at_ = end + 1;
  bool negated = letter == 'P';
  if (name.starts_with('^')) {
    negated = !negated;
    name.remove_prefix(1);
  }
  if (name == "C" || name == "c" || name == "Other" || name == "other") return std::optional<Set>(Set{assignedBody(), !negated});
  if (findUnicodeClass(name) == nullptr) return unsupported(fmt::format("the Unicode property '{}'", name.substr(0, 40)), start);
  return std::optional<Set>(Set{classBody(name), negated});
}

Result<Done> Rewriter::escape() {
  const std::size_t start = at_;
  if (at_ + 1 >= in_.size()) return broken("a \\ at the end", start);
  const CodePoint p = codePointAt(in_, at_ + 1);
  at_ += 1 + std::size_t(p.bytes);
  if (!isLetterOrDigit(p.value)) {
    atom(in_.substr(p.value < 0x80 ? start : start + 1, std::size_t(p.bytes) + (p.value < 0x80 ? 1 : 0)));
    return Done{};
  }
  const char letter = char(p.value);
  if (letter == 'A' || letter == 'z' || letter == 'Z') {
    assertion(in_.substr(start, 2));
    return Done{};
  }
  if (letter == 'b' || letter == 'B') {
    const std::string w = wordBody() + std::string(kLoneWords);
    assertion(letter == 'b' ? fmt::format("(?:(?<=[{0}])(?![{0}])|(?<![{0}])(?=[{0}]))", w) : fmt::format("(?:(?<=[{0}])(?=[{0}])|(?<![{0}])(?![{0}]))", w));
    return Done{};
  }
  if (letter == 'R') {
    atom("(?>\\x{0D}\\x{0A}|[\\x{0A}-\\x{0D}\\x{85}\\x{2028}\\x{2029}])");
    return Done{};
  }
  if (const auto c = TRY(charEscape(letter, start))) {
    std::string text;
    appendRange(text, {*c, *c});
    atom(text);
    return Done{};
  }
  if (const auto set = TRY(setEscape(letter, false, start))) {
    atom(fmt::format("[{}{}]", set->negated ? "^" : "", set->body));
    return Done{};
  }
  return unsupported(fmt::format("the escape \\{}", letter), start);
}

// `complements` are bodies whose complements belong to the class: PCRE2 has no union with a complement that was widened by hand.
std::string Rewriter::classOf(const std::string& body, const std::vector<std::string>& complements, bool negated) {
  if (complements.empty()) return fmt::format("[{}{}]", negated ? "^" : "", body);
  if (complements.size() == 1) {
    if (body.empty()) return fmt::format("[{}{}]", negated ? "" : "^", complements[0]);
    if (negated) return fmt::format("(?:(?![{}])[{}])", body, complements[0]);
  }
  std::string any;
  for (const std::string& c : complements) any += fmt::format("{}[^{}]", any.empty() ? "" : "|", c);
  if (!body.empty()) any += fmt::format("|[{}]", body);
  return negated ? fmt::format("(?:(?!{})(?s:.))", any) : fmt::format("(?:{})", any);
}

Result<Done> Rewriter::charClass() {
  const std::size_t start = at_;
  ++at_;
  const bool negated = next("^");
  if (negated) ++at_;
  if (next("]")) return broken("an empty character class", start);
  std::string body;
  std::vector<std::string> complements;
  bool after_set = false;
  while (true) {
    if (!more()) return broken("a character class that is never closed", start);
    const CodePoint p = codePointAt(in_, at_);
    if (p.value == ']') break;
    if (p.value == '[') return unsupported(next("[:") ? "a POSIX class [:" : "a character class inside a class", at_);
    if (next("&&")) return unsupported("a class intersection &&", at_);
    if (p.value != '\\') {
      if (after_set && p.value == '-') body += '\\';  // no range begins with a set
      body += in_.substr(at_, std::size_t(p.bytes));
      at_ += std::size_t(p.bytes);
      after_set = false;
      continue;
    }
    const std::size_t escape_at = at_;
    if (at_ + 1 >= in_.size()) return broken("a \\ at the end", escape_at);
    const CodePoint e = codePointAt(in_, at_ + 1);
    at_ += 1 + std::size_t(e.bytes);
    const bool was_after_set = std::exchange(after_set, false);
    if (!isLetterOrDigit(e.value)) {
      body += e.value < 0x80 ? in_.substr(escape_at, 2) : in_.substr(escape_at + 1, std::size_t(e.bytes));
    } else if (e.value == 'b') {
      body += "\\x{08}";
    } else if (const auto c = TRY(charEscape(char(e.value), escape_at))) {
      appendRange(body, {*c, *c});
    } else if (const auto set = TRY(setEscape(char(e.value), true, escape_at))) {
      if (body.ends_with('-') && !body.ends_with("\\-") && !was_after_set && body.size() > 1) return unsupported("a range that ends in a set", escape_at);
      if (set->negated) complements.push_back(set->body);
      else body += set->body;
      after_set = true;
    } else {
      return unsupported(fmt::format("the escape \\{} in a class", char(e.value)), escape_at);
    }
  }
  ++at_;
  atom(classOf(body, complements, negated));
  return Done{};
}

}  // namespace

std::string classBody(std::string_view name) {
  const UnicodeClass* known = findUnicodeClass(name);
  CHECK(known != nullptr);
  return bodyOf(known->pcre, known->missing);
}
std::string spaceBody() { return bodyOf("", whiteSpace()); }
std::string wordBody() { return bodyOf("\\p{L}\\p{M}\\p{Nd}\\p{Nl}\\p{Pc}", wordGap()); }
std::string tokenWordBody() { return bodyOf("\\p{L}\\p{M}\\p{Nd}\\p{Nl}\\p{Pc}", tokenWordGap()); }
std::string punctuationPattern() { return fmt::format("(?![{}])[\\p{{P}}\\x{{166D}}\\x{{111C9}}!-/:-@\\[-`{{-~]", bodyOf("", youngPunctuation())); }
std::string digitBody() { return bodyOf("\\p{N}", digitGap()); }

Result<std::string> rewriteForPcre2(std::string_view pattern) { return Rewriter(pattern).run(); }

}  // namespace sluice
