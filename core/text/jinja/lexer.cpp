#include "core/text/jinja/lexer.h"

#include <algorithm>
#include <cctype>
#include <optional>

#include <fmt/format.h>

#include "core/base/result.h"
#include "core/text/jinja/text.h"
#include "core/text/jinja/unicode.h"

namespace sluice::jinja {

Error syntaxError(std::string_view template_name, int line, std::string_view what) {
  return Error{Errc::Corrupt, fmt::format("chat template '{}', line {}: {}", template_name, line, what)};
}

namespace {

constexpr std::size_t kNone = std::string_view::npos;

/// Every line break becomes \n, and one at the very end goes.
std::string normalized(std::string_view source) {
  std::string out;
  out.reserve(source.size());
  for (std::size_t i = 0; i < source.size(); ++i) {
    if (source[i] != '\r') {
      out.push_back(source[i]);
      continue;
    }
    out.push_back('\n');
    if (i + 1 < source.size() && source[i + 1] == '\n') ++i;
  }
  if (!out.empty() && out.back() == '\n') out.pop_back();
  return out;
}

class Lexer {
 public:
  Lexer(std::string_view source, std::string_view name) : source_(normalized(source)), name_(name) {}

  Result<std::vector<Token>> run() {
    while (at_ < source_.size()) TRY(root());
    tokens_.push_back({TokenKind::End, "", line_});
    return std::move(tokens_);
  }

 private:
  char peek(std::size_t ahead = 0) const { return at_ + ahead < source_.size() ? source_[at_ + ahead] : '\0'; }
  bool startsWith(std::string_view what, std::size_t at) const { return source_.compare(at, what.size(), what) == 0; }
  std::size_t skipSpace(std::size_t at) const {
    while (at < source_.size()) {
      const CodePoint c = decodeAt(source_, at);
      if (!isSpace(c.code)) break;
      at += c.bytes;
    }
    return at;
  }
  Error fail(std::string_view what) const { return syntaxError(name_, line_, what); }
  /// Moves to `to`, counting lines.
  void advance(std::size_t to) {
    line_ += static_cast<int>(std::count(source_.begin() + static_cast<std::ptrdiff_t>(at_), source_.begin() + static_cast<std::ptrdiff_t>(to), '\n'));
    if (to > at_) line_starting_ = source_[to - 1] == '\n';
    at_ = to;
  }

  /// Text up to the tag at `tag`, whose sign is `sign`; blocks and comments take the white space before them on their line.
  void data(std::size_t tag, char sign, bool strips_line) {
    std::string_view text = std::string_view(source_).substr(at_, tag - at_);
    if (sign == '-') {
      while (!text.empty()) {
        const std::size_t last = characterBefore(text, text.size());
        if (!isSpace(decodeAt(text, last).code)) break;
        text = text.substr(0, last);
      }
    } else if (sign != '+' && strips_line) {
      const std::size_t newline = text.rfind('\n');
      const std::size_t start = newline == kNone ? 0 : newline + 1;
      if ((start > 0 || line_starting_) && start < text.size() && skipSpace(at_ + start) >= tag) text = text.substr(0, start);
    }
    if (!text.empty()) tokens_.push_back({TokenKind::Data, std::string(text), line_});
    advance(tag);
  }

  /// End of `{%- raw -%}` when one starts at `tag`, with its sign; kNone otherwise.
  std::size_t rawBegin(std::size_t tag) const {
    std::size_t at = tag + 2;
    if (at < source_.size() && (source_[at] == '-' || source_[at] == '+')) ++at;
    at = skipSpace(at);
    if (!startsWith("raw", at)) return kNone;
    at = skipSpace(at + 3);
    if (startsWith("-%}", at)) return skipSpace(at + 3);
    return startsWith("%}", at) ? at + 2 : kNone;
  }

  char signAt(std::size_t at) const {
    const char c = at < source_.size() ? source_[at] : '\0';
    return c == '-' || c == '+' ? c : '\0';
  }

  /// Where a closing `mark` ("%}", "#}") that may carry a sign ends, when one stands at `at`; kNone otherwise.
  std::size_t closed(std::string_view mark, std::size_t at, bool trims) const {
    const char sign = signAt(at);
    const std::size_t end = at + (sign != '\0' ? 1 : 0);
    if (!startsWith(mark, end)) return kNone;
    if (sign == '-') return skipSpace(end + mark.size());
    const std::size_t after = end + mark.size();
    return sign == '\0' && trims && after < source_.size() && source_[after] == '\n' ? after + 1 : after;
  }

  Result<Done> root() {
    std::size_t tag = at_;
    for (;; ++tag) {
      tag = source_.find('{', tag);
      if (tag == kNone || tag + 1 >= source_.size()) {
        data(source_.size(), '+', false);
        return Done{};
      }
      const char next = source_[tag + 1];
      if (next == '{' || next == '%' || next == '#') break;
    }
    const char kind = source_[tag + 1];
    const char sign = signAt(tag + 2);
    data(tag, sign, kind != '{');
    if (kind == '%') {
      if (const std::size_t end = rawBegin(tag); end != kNone) return raw(end);
    }
    advance(tag + 2 + (sign != '\0' ? 1 : 0));
    if (kind == '#') return comment();
    tokens_.push_back({kind == '%' ? TokenKind::TagBegin : TokenKind::PrintBegin, "", line_});
    return inside(kind == '%');
  }

  Result<Done> raw(std::size_t body) {
    advance(body);
    for (std::size_t tag = source_.find("{%", at_); tag != kNone; tag = source_.find("{%", tag + 1)) {
      const char sign = signAt(tag + 2);
      std::size_t at = skipSpace(tag + 2 + (sign != '\0' ? 1 : 0));
      if (!startsWith("endraw", at)) continue;
      const std::size_t end = closed("%}", skipSpace(at + 6), true);
      if (end == kNone) continue;
      data(tag, sign, true);
      advance(end);
      return Done{};
    }
    return fail("Missing end of raw directive");
  }

  Result<Done> comment() {
    for (std::size_t at = at_; at < source_.size(); ++at) {
      const std::size_t end = closed("#}", at, true);
      if (end == kNone) continue;
      advance(end);
      return Done{};
    }
    return fail("Missing end of comment tag");
  }

  Result<Done> inside(bool tag) {
    std::string open;
    while (at_ < source_.size()) {
      if (open.empty()) {
        const std::size_t end = tag ? closed("%}", at_, true) : startsWith("-}}", at_) ? skipSpace(at_ + 3) : startsWith("}}", at_) ? at_ + 2 : kNone;
        if (end != kNone) {
          tokens_.push_back({tag ? TokenKind::TagEnd : TokenKind::PrintEnd, "", line_});
          advance(end);
          return Done{};
        }
      }
      if (const std::size_t end = skipSpace(at_); end > at_) {
        advance(end);
        continue;
      }
      TRY(token(open));
    }
    return Done{};
  }

  Result<Done> token(std::string& open) {
    const char c = peek();
    if (std::isdigit(static_cast<unsigned char>(c)) != 0) {
      number();
      return Done{};
    }
    if (c == '\'' || c == '"') return string(c);
    if (isWord(decodeAt(source_, at_).code)) {
      std::size_t end = at_;
      while (end < source_.size() && isWord(decodeAt(source_, end).code)) end += decodeAt(source_, end).bytes;
      push(TokenKind::Name, end);
      return Done{};
    }
    static constexpr std::string_view kPairs[] = {"//", "**", "==", "!=", ">=", "<="};
    for (const std::string_view pair : kPairs) {
      if (!startsWith(pair, at_)) continue;
      push(TokenKind::Operator, at_ + 2);
      return Done{};
    }
    if (c == '\0' || std::string_view("+-/*%~[](){}><=.:|,;").find(c) == kNone)
      return fail(fmt::format("unexpected char '{}'", source_.substr(at_, decodeAt(source_, at_).bytes)));
    if (c == '(' || c == '[' || c == '{') open.push_back(c == '(' ? ')' : c == '[' ? ']' : '}');
    if (c == ')' || c == ']' || c == '}') {
      if (open.empty()) return fail(fmt::format("unexpected '{}'", c));
      if (open.back() != c) return fail(fmt::format("unexpected '{}', expected '{}'", c, open.back()));
      open.pop_back();
    }
    push(TokenKind::Operator, at_ + 1);
    return Done{};
  }

  void push(TokenKind kind, std::size_t end) {
    tokens_.push_back({kind, source_.substr(at_, end - at_), line_});
    advance(end);
  }

  /// End of digits with single underscores between them, from `at`; `at` itself when there is none.
  template <class IsDigit>
  std::size_t digits(std::size_t at, IsDigit is_digit) const {
    std::size_t end = at;
    while (end < source_.size()) {
      if (is_digit(source_[end])) {
        ++end;
      } else if (source_[end] == '_' && end > at && end + 1 < source_.size() && is_digit(source_[end + 1])) {
        end += 2;
      } else {
        break;
      }
    }
    return end;
  }

  void number() {
    const auto decimal = [](char c) { return c >= '0' && c <= '9'; };
    const auto take = [&](TokenKind kind, std::size_t end) {
      push(kind, end);
      std::string& text = tokens_.back().text;
      text.erase(std::remove(text.begin(), text.end(), '_'), text.end());
    };
    if (at_ == 0 || source_[at_ - 1] != '.') {
      const std::size_t whole = digits(at_, decimal);
      std::size_t end = whole;
      if (startsWith(".", end) && digits(end + 1, decimal) > end + 1) end = digits(end + 1, decimal);
      if (end < source_.size() && (source_[end] | 0x20) == 'e') {
        const std::size_t power = end + 1 + (signAt(end + 1) != '\0' ? 1 : 0);
        if (digits(power, decimal) > power) end = digits(power, decimal);
      }
      if (end > whole) return take(TokenKind::Float, end);
    }
    if (peek() == '0') {
      const char base = static_cast<char>(peek(1) | 0x20);
      const auto of_base = [base](char c) {
        const char lower = static_cast<char>(c | 0x20);
        if (base == 'b') return c == '0' || c == '1';
        if (base == 'o') return c >= '0' && c <= '7';
        return (c >= '0' && c <= '9') || (lower >= 'a' && lower <= 'f');
      };
      if (base == 'b' || base == 'o' || base == 'x') {
        const std::size_t from = at_ + 2 + (peek(2) == '_' ? 1 : 0);
        if (const std::size_t end = digits(from, of_base); end > from) return take(TokenKind::Integer, end);
      }
      return take(TokenKind::Integer, digits(at_, [](char c) { return c == '0'; }));
    }
    take(TokenKind::Integer, digits(at_, decimal));
  }

  Result<Done> string(char quote) {
    std::size_t end = at_ + 1;
    while (end < source_.size() && source_[end] != quote) end += source_[end] == '\\' ? 2 : 1;
    if (end >= source_.size()) return fail(fmt::format("unexpected char '{}': the string that it opens is never closed", quote));
    Token token{TokenKind::String, "", line_};
    const std::string_view body = std::string_view(source_).substr(at_ + 1, end - at_ - 1);
    if (const auto fault = unescape(body, token.text)) return fail(*fault);
    tokens_.push_back(std::move(token));
    advance(end + 1);
    return Done{};
  }

  /// Python's string escapes. What is not one stays, backslash and all.
  static std::optional<std::string> unescape(std::string_view body, std::string& out) {
    for (std::size_t i = 0; i < body.size(); ++i) {
      if (body[i] != '\\') {
        out.push_back(body[i]);
        continue;
      }
      const char c = body[++i];
      static constexpr std::string_view kPlain = "\\'\"abfnrtv", kMeant = "\\'\"\a\b\f\n\r\t\v";
      if (const std::size_t plain = kPlain.find(c); plain != kNone) {
        out.push_back(kMeant[plain]);
      } else if (c == '\n') {
        continue;
      } else if (c >= '0' && c <= '7') {
        char32_t code = 0;
        std::size_t end = i;
        for (; end < std::min(i + 3, body.size()) && body[end] >= '0' && body[end] <= '7'; ++end) code = code * 8 + static_cast<char32_t>(body[end] - '0');
        appendUtf8(out, code);
        i = end - 1;
      } else if (c == 'x' || c == 'u' || c == 'U') {
        const std::size_t length = c == 'x' ? 2 : c == 'u' ? 4 : 8;
        char32_t code = 0;
        const std::string_view hex = body.substr(i + 1, length);
        if (hex.size() < length || !std::all_of(hex.begin(), hex.end(), [](char h) { return std::isxdigit(static_cast<unsigned char>(h)) != 0; }))
          return fmt::format("truncated \\{} escape in a string", c);
        for (const char h : hex) code = code * 16 + static_cast<char32_t>(h <= '9' ? h - '0' : (h | 0x20) - 'a' + 10);
        if (code > 0x10FFFF) return "illegal Unicode character in a string";
        if (code >= 0xD800 && code <= 0xDFFF) return "a surrogate escape in a string is no character; write it as \\U with eight digits";
        appendUtf8(out, code);
        i += length;
      } else if (c == 'N') {
        return "\\N{...} escapes are not read here; write the character itself or \\u";
      } else if (static_cast<unsigned char>(c) >= 0x80) {
        // The reference spells the character in ASCII first, and the backslash then keeps that spelling from being read.
        const CodePoint code = decodeAt(body, i);
        const auto number = static_cast<std::uint32_t>(code.code);
        out += number < 0x100 ? fmt::format("\\x{:02x}", number) : number < 0x10000 ? fmt::format("\\u{:04x}", number) : fmt::format("\\U{:08x}", number);
        i += code.bytes - 1;
      } else {
        out.push_back('\\');
        out.push_back(c);
      }
    }
    return std::nullopt;
  }

  std::string source_;
  std::string_view name_;
  std::size_t at_ = 0;
  int line_ = 1;
  bool line_starting_ = true;
  std::vector<Token> tokens_;
};

}  // namespace

Result<std::vector<Token>> tokenize(std::string_view source, std::string_view name) { return Lexer(source, name).run(); }

}  // namespace sluice::jinja
