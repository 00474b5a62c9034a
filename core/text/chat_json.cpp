#include "core/text/chat_json.h"

#include <charconv>
#include <limits>
#include <unordered_map>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/text/jinja/json.h"
#include "core/text/jinja/text.h"

namespace sluice {

namespace {

using Json = nlohmann::ordered_json;

constexpr int kDepthMax = 128;
constexpr std::uint64_t kBigIntegerSubtype = 0x1B16;  // no meaning elsewhere: marks our own values
// Python's own limit on digits of an integer that it reads; it also bounds what one token can cost.
constexpr std::size_t kDigitsMax = 4300;

class Reader {
 public:
  Reader(std::string_view text, std::string_view name) : text_(text), name_(name) {}

  Result<Json> document() {
    Json value = TRY(read(0));
    skip();
    if (at_ < text_.size()) return fail("text after the value's end");
    return value;
  }

 private:
  Error fail(std::string_view what) const {
    std::size_t line = 1, column = 1;
    for (std::size_t i = 0; i < std::min(at_, text_.size()); ++i) {
      column = text_[i] == '\n' ? 1 : column + 1;
      if (text_[i] == '\n') ++line;
    }
    return Error{Errc::BadRequest, fmt::format("{} is not JSON: line {}, column {}: {}", name_, line, column, what)};
  }

  char peek() const { return at_ < text_.size() ? text_[at_] : '\0'; }
  void skip() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\n' || text_[at_] == '\r' || text_[at_] == '\t')) ++at_;
  }
  bool take(char c) {
    skip();
    if (peek() != c || at_ >= text_.size()) return false;
    ++at_;
    return true;
  }

  Result<Json> read(int depth) {
    if (depth > kDepthMax) return fail(fmt::format("nested more than {} levels deep", kDepthMax));
    skip();
    for (const auto& [word, value] : {std::pair<std::string_view, Json>{"null", nullptr}, {"true", true}, {"false", false}}) {
      if (text_.compare(at_, word.size(), word) != 0) continue;
      at_ += word.size();
      return value;
    }
    if (at_ >= text_.size()) return fail("a value is missing at the end");
    const char c = peek();
    if (c == '"') return Json(TRY(string()));
    if (c == '[') return array(depth);
    if (c == '{') return object(depth);
    if (c == '-' || (c >= '0' && c <= '9')) return number();
    return fail("expected a value");
  }

  Result<Json> array(int depth) {
    ++at_;
    Json result = Json::array();
    if (take(']')) return result;
    do result.push_back(TRY(read(depth + 1)));
    while (take(','));
    if (!take(']')) return fail("expected ',' or ']'");
    return result;
  }

  Result<Json> object(int depth) {
    ++at_;
    std::vector<std::pair<std::string, Json>> members;    // nlohmann's map copies all values whenever it grows
    std::unordered_map<std::string, std::size_t> places;  // and searches name by name
    if (take('}')) return Json::object();
    do {
      skip();
      if (peek() != '"') return fail("expected a name in quotes");
      std::string key = TRY(string());
      if (!take(':')) return fail("expected ':'");
      Json value = TRY(read(depth + 1));
      const auto [place, fresh] = places.emplace(key, members.size());
      if (fresh) {
        members.emplace_back(std::move(key), std::move(value));
      } else {
        members[place->second].second = std::move(value);
      }
    } while (take(','));
    if (!take('}')) return fail("expected ',' or '}'");
    Json result = Json::object();
    auto& container = static_cast<Json::object_t::Container&>(result.get_ref<Json::object_t&>());
    container.reserve(members.size());
    for (auto& [key, value] : members) container.emplace_back(std::move(key), std::move(value));
    return result;
  }

  Result<char32_t> hex4() {
    char32_t code = 0;
    for (int i = 0; i < 4; ++i, ++at_) {
      const char c = peek();
      const char lower = static_cast<char>(c | 0x20);
      if (!(c >= '0' && c <= '9') && !(lower >= 'a' && lower <= 'f')) return fail("\\u wants four hexadecimal digits");
      code = code * 16 + static_cast<char32_t>(c <= '9' ? c - '0' : lower - 'a' + 10);
    }
    return code;
  }

  Result<Done> escape(std::string& out) {
    const char c = peek();
    ++at_;
    static constexpr std::string_view kCodes = "\"\\/bfnrt", kMeant = "\"\\/\b\f\n\r\t";
    if (const std::size_t place = kCodes.find(c); place != std::string_view::npos && c != '\0') {
      out.push_back(kMeant[place]);
      return Done{};
    }
    if (c != 'u') return fail("unknown escape");
    char32_t code = TRY(hex4());
    if (code >= 0xD800 && code <= 0xDBFF && text_.compare(at_, 2, "\\u") == 0) {
      at_ += 2;
      const char32_t low = TRY(hex4());
      if (low < 0xDC00 || low > 0xDFFF) return fail("half of a surrogate pair is no character");
      code = 0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00);
    }
    if (code >= 0xD800 && code <= 0xDFFF) return fail("half of a surrogate pair is no character");
    jinja::appendUtf8(out, code);
    return Done{};
  }

  Result<std::string> string() {
    ++at_;
    std::string out;
    while (true) {
      if (at_ >= text_.size()) return fail("a string is never closed");
      const char c = text_[at_];
      if (c == '"') break;
      if (static_cast<unsigned char>(c) < 0x20) return fail("a control character in a string; write it as an escape");
      if (c == '\\') {
        ++at_;
        TRY(escape(out));
        continue;
      }
      const std::size_t bytes = jinja::decodeAt(text_, at_).bytes;
      if (bytes == 1 && static_cast<unsigned char>(c) >= 0x80) return fail("a byte that is not UTF-8");
      out.append(text_.substr(at_, bytes));
      at_ += bytes;
    }
    ++at_;
    return out;
  }

  Result<Json> number() {
    const std::size_t from = at_;
    const auto digits = [&] {
      const std::size_t start = at_;
      while (peek() >= '0' && peek() <= '9') ++at_;
      return at_ - start;
    };
    if (peek() == '-') ++at_;
    const char first = peek();
    const std::size_t whole = digits();
    if (whole == 0) return fail("expected a digit");
    if (first == '0' && whole > 1) return fail("a number with a leading zero");
    bool real = false;
    if (peek() == '.') {
      real = true;
      ++at_;
      if (digits() == 0) return fail("expected a digit after the point");
    }
    if (peek() == 'e' || peek() == 'E') {
      real = true;
      ++at_;
      if (peek() == '+' || peek() == '-') ++at_;
      if (digits() == 0) return fail("expected a digit in the exponent");
    }
    const std::string_view spelled = text_.substr(from, at_ - from);
    if (real) return Json(jinja::readFloat(spelled).value_or(0.0));
    if (whole > kDigitsMax) return fail(fmt::format("an integer of more than {} digits", kDigitsMax));
    std::int64_t small = 0;
    if (std::from_chars(spelled.data(), spelled.data() + spelled.size(), small).ec == std::errc()) return Json(small);
    std::uint64_t large = 0;
    if (spelled[0] != '-' && std::from_chars(spelled.data(), spelled.data() + spelled.size(), large).ec == std::errc()) return Json(large);
    return Json::binary(std::vector<std::uint8_t>(spelled.begin(), spelled.end()), kBigIntegerSubtype);
  }

  std::string_view text_, name_;
  std::size_t at_ = 0;
};

void spell(const Json& value, std::string& out) {
  if (value.is_string()) {
    jinja::quoteJson(value.get_ref<const std::string&>(), false, out);
  } else if (value.is_number_float()) {
    out += jinja::spellJsonFloat(value.get<double>());
  } else if (const auto big = bigIntegerSpelling(value)) {
    out += *big;
  } else if (value.is_array()) {
    out += "[";
    for (std::size_t i = 0; i < value.size(); ++i) {
      if (i > 0) out += ", ";
      spell(value[i], out);
    }
    out += "]";
  } else if (value.is_object()) {
    out += "{";
    bool first = true;
    for (const auto& [key, item] : value.items()) {
      if (!first) out += ", ";
      first = false;
      jinja::quoteJson(key, false, out);
      out += ": ";
      spell(item, out);
    }
    out += "}";
  } else {
    out += value.is_binary() ? "null" : value.dump();
  }
}

}  // namespace

Result<Json> parseChatJson(std::string_view text, std::string_view name) { return Reader(text, name).document(); }

std::optional<std::string> bigIntegerSpelling(const Json& value) {
  if (!value.is_binary()) return std::nullopt;
  const auto& bytes = value.get_binary();
  if (!bytes.has_subtype() || bytes.subtype() != kBigIntegerSubtype) return std::nullopt;
  return std::string(bytes.begin(), bytes.end());
}

std::string spellChatJson(const Json& value) {
  std::string out;
  spell(value, out);
  return out;
}

}  // namespace sluice
