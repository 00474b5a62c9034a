#include "core/text/tool_call_parser.h"

#include <algorithm>

namespace sluice {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::string_view kOpen = "<tool_call>", kClose = "</tool_call>";
constexpr std::string_view kKeyOpen = "<arg_key>", kKeyClose = "</arg_key>";
constexpr std::string_view kValueOpen = "<arg_value>", kValueClose = "</arg_value>";

bool isBlank(char c) { return c == ' ' || c == '\n' || c == '\t' || c == '\r'; }

std::string_view trimmed(std::string_view s) {
  while (!s.empty() && isBlank(s.front())) s.remove_prefix(1);
  while (!s.empty() && isBlank(s.back())) s.remove_suffix(1);
  return s;
}

// Bytes at the end of `text` that may be the beginning of `tag`.
std::size_t heldBack(std::string_view text, std::string_view tag) {
  for (std::size_t n = std::min(text.size(), tag.size() - 1); n > 0; --n)
    if (text.substr(text.size() - n) == tag.substr(0, n)) return n;
  return 0;
}

// Bytes at the end of `text` that are an unfinished UTF-8 character; escaping must not see half of one.
std::size_t unfinishedCharacter(std::string_view text) {
  for (std::size_t n = 1; n <= std::min<std::size_t>(3, text.size()); ++n) {
    const auto lead = static_cast<unsigned char>(text[text.size() - n]);
    if ((lead & 0xc0) == 0x80) continue;
    const std::size_t length = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : lead >= 0xc0 ? 2 : 1;
    return length > n ? n : 0;
  }
  return 0;
}

std::string escaped(std::string_view text) {
  const std::string quoted = Json(std::string(text)).dump(-1, ' ', false, Json::error_handler_t::replace);
  return quoted.substr(1, quoted.size() - 2);
}

// `text` begins with `tag` behind blanks: the offset after it; npos if not. `undecided` when more text may still make it so.
std::size_t behindTag(std::string_view text, std::string_view tag, bool& undecided) {
  std::size_t at = 0;
  while (at < text.size() && isBlank(text[at])) ++at;
  const std::string_view rest = text.substr(at);
  if (rest.size() >= tag.size()) return rest.substr(0, tag.size()) == tag ? at + tag.size() : std::string_view::npos;
  if (tag.substr(0, rest.size()) == rest) undecided = true;
  return std::string_view::npos;
}

}  // namespace

ToolCallParser::ToolCallParser(const Json& tools) {
  if (!tools.is_array()) return;
  for (const Json& tool : tools) {
    const Json& function = tool.is_object() && tool.contains("function") ? tool["function"] : tool;
    if (!function.is_object() || !function.contains("name") || !function["name"].is_string()) continue;
    auto& parameters = string_parameters_[function["name"].get<std::string>()];
    if (!function.contains("parameters") || !function["parameters"].is_object() || !function["parameters"].contains("properties")) continue;
    const Json& properties = function["parameters"]["properties"];
    if (!properties.is_object()) continue;
    for (const auto& [name, schema] : properties.items()) {
      if (!schema.is_object()) continue;
      bool text = schema.contains("type") && schema["type"] == "string";
      if (!schema.contains("type") && schema.contains("enum") && schema["enum"].is_array())
        text = std::all_of(schema["enum"].begin(), schema["enum"].end(), [](const Json& v) { return v.is_string(); });
      parameters[name] = text;
    }
  }
}

bool ToolCallParser::isString(const std::string& key) const {
  const auto function = string_parameters_.find(calls_.back().name);
  if (function == string_parameters_.end()) return false;
  const auto parameter = function->second.find(key);
  return parameter != function->second.end() && parameter->second;
}

std::vector<ToolCallDelta> ToolCallParser::push(std::string_view text) {
  buffer_ += text;
  std::vector<ToolCallDelta> out;
  while (step(out, false)) {}
  return out;
}

std::vector<ToolCallDelta> ToolCallParser::finish() {
  std::vector<ToolCallDelta> out;
  while (step(out, true)) {}
  if (state_ != State::Outside && !calls_.empty()) calls_.back().raw += buffer_;
  if (state_ == State::Outside) stray_ += trimmed(buffer_);
  buffer_.clear();
  return out;
}

std::string ToolCallParser::takeStrayText() { return std::exchange(stray_, {}); }

void ToolCallParser::consume(std::size_t bytes) {
  if (state_ != State::Outside && state_ != State::Head && !calls_.empty()) calls_.back().raw.append(buffer_, 0, bytes);
  buffer_.erase(0, bytes);
}

void ToolCallParser::begin(std::vector<ToolCallDelta>& out, std::string name) {
  calls_.push_back({name, "", false, ""});
  arguments_given_ = 0;
  out.push_back({calls_.size() - 1, std::move(name), ""});
}

void ToolCallParser::append(std::vector<ToolCallDelta>& out, std::string_view arguments) {
  if (arguments.empty()) return;
  calls_.back().arguments += arguments;
  if (!out.empty() && out.back().index == calls_.size() - 1) {
    out.back().arguments += arguments;
  } else {
    out.push_back({calls_.size() - 1, "", std::string(arguments)});
  }
}

void ToolCallParser::close(std::vector<ToolCallDelta>& out) {
  append(out, arguments_given_ == 0 ? "{}" : "}");
  calls_.back().complete = true;
  state_ = State::Outside;
}

// One step of reading; false when more text is needed.
bool ToolCallParser::step(std::vector<ToolCallDelta>& out, bool final) {
  bool undecided = false;
  switch (state_) {
    case State::Outside: {
      const std::size_t at = buffer_.find(kOpen);
      const std::size_t free = at != std::string::npos ? at : buffer_.size() - heldBack(buffer_, kOpen);
      stray_ += trimmed(std::string_view(buffer_).substr(0, free));
      buffer_.erase(0, free);
      if (at == std::string::npos) return false;
      buffer_.erase(0, kOpen.size());
      state_ = State::Head;
      return true;
    }
    case State::Head: return stepHead(out);
    case State::Json: return stepJson(out, final);
    case State::JsonDone: {
      const std::size_t at = buffer_.find(kClose);
      if (at == std::string::npos) return false;
      buffer_.erase(0, at + kClose.size());
      state_ = State::Outside;
      return true;
    }
    case State::AfterName: {
      if (const std::size_t end = behindTag(buffer_, kClose, undecided); end != std::string::npos) {
        calls_.back().raw.append(buffer_, 0, end - kClose.size());
        buffer_.erase(0, end);
        close(out);
        return true;
      }
      if (const std::size_t end = behindTag(buffer_, kKeyOpen, undecided); end != std::string::npos) {
        consume(end);
        state_ = State::Key;
        return true;
      }
      if (undecided || buffer_.empty()) return false;
      const std::size_t next = std::min(buffer_.find(kKeyOpen), buffer_.find(kClose));  // what stands between is nobody's: skipped, kept in raw
      if (next == std::string::npos) return false;
      consume(next);
      return true;
    }
    case State::Key: {
      const std::size_t end = buffer_.find(kKeyClose);
      if (end == std::string::npos) return false;
      key_ = std::string(trimmed(std::string_view(buffer_).substr(0, end)));
      consume(end + kKeyClose.size());
      state_ = State::BetweenKeyAndValue;
      return true;
    }
    case State::BetweenKeyAndValue: {
      // A missing <arg_value> is recoverable: the value begins right here.
      const std::size_t end = behindTag(buffer_, kValueOpen, undecided);
      if (end == std::string::npos && (undecided || buffer_.empty()) && !final) return false;
      if (end != std::string::npos) consume(end);
      value_is_string_ = isString(key_);
      append(out, (arguments_given_ == 0 ? "{" : ", ") + Json(key_).dump(-1, ' ', false, Json::error_handler_t::replace) + ": " + (value_is_string_ ? "\"" : ""));
      ++arguments_given_;
      state_ = State::Value;
      return true;
    }
    case State::Value: return stepValue(out, final);
  }
  return false;
}

// Decides between the two forms, and waits until a name is whole.
bool ToolCallParser::stepHead(std::vector<ToolCallDelta>& out) {
  const std::string_view head = trimmed(buffer_);
  if (head.empty()) return false;
  if (head.front() == '{') {
    buffer_.erase(0, buffer_.find('{'));
    json_scanned_ = json_arguments_ = json_given_ = 0;
    json_depth_ = 0;
    json_in_string_ = json_escaped_ = false;
    state_ = State::Json;
    return true;
  }
  const std::size_t name_end = std::min(buffer_.find(kKeyOpen), buffer_.find(kClose));
  if (name_end == std::string::npos) return false;
  begin(out, std::string(trimmed(std::string_view(buffer_).substr(0, name_end))));
  calls_.back().raw = buffer_.substr(0, name_end);
  buffer_.erase(0, name_end);
  state_ = State::AfterName;
  return true;
}

// The usual order, {"name": NAME, "arguments": {, lets the arguments be handed out as they come.
void ToolCallParser::startJsonArguments(std::vector<ToolCallDelta>& out) {
  static constexpr std::string_view kNameKey = "\"name\"", kArgumentsKey = "\"arguments\"";
  const std::string_view text = buffer_;
  std::size_t at = 1;
  bool undecided = false;
  const auto skip = [&](std::string_view token) {
    const std::size_t end = behindTag(text.substr(at), token, undecided);
    if (end == std::string_view::npos) return false;
    at += end;
    return true;
  };
  if (!skip(kNameKey) || !skip(":")) return;
  while (at < text.size() && isBlank(text[at])) ++at;
  const std::size_t name_begin = at;
  if (at >= text.size() || text[at] != '"') return;
  for (++at; at < text.size() && text[at] != '"'; ++at)
    if (text[at] == '\\') ++at;
  if (at >= text.size()) return;
  const Json name = Json::parse(text.substr(name_begin, ++at - name_begin), nullptr, false);
  if (!name.is_string() || !skip(",") || !skip(kArgumentsKey) || !skip(":")) return;
  while (at < text.size() && isBlank(text[at])) ++at;
  if (at >= text.size() || text[at] != '{') return;
  begin(out, name.get<std::string>());
  json_arguments_ = json_given_ = at;
}

// Tags inside the object's strings mean nothing: the object ends where its brackets close.
bool ToolCallParser::stepJson(std::vector<ToolCallDelta>& out, bool final) {
  if (json_arguments_ == 0) startJsonArguments(out);
  std::size_t arguments_end = 0;
  for (; json_scanned_ < buffer_.size(); ++json_scanned_) {
    const char c = buffer_[json_scanned_];
    if (json_in_string_) {
      json_in_string_ = json_escaped_ || c != '"';
      json_escaped_ = !json_escaped_ && c == '\\';
      continue;
    }
    if (c == '"') json_in_string_ = true;
    if (c == '{' || c == '[') ++json_depth_;
    if (c != '}' && c != ']') continue;
    --json_depth_;
    if (json_depth_ == 1 && json_scanned_ > json_arguments_ && json_arguments_ != 0 && arguments_end == 0) arguments_end = json_scanned_ + 1;
    if (json_depth_ <= 0) break;
  }
  const bool closed = json_scanned_ < buffer_.size();
  if (json_arguments_ != 0 && json_given_ != 0) {
    const std::size_t end = arguments_end != 0 ? arguments_end : buffer_.size();
    append(out, std::string_view(buffer_).substr(json_given_, end - json_given_));
    json_given_ = arguments_end != 0 ? 0 : end;  // 0: all of them are out
  }
  if (!closed && !final) return false;
  const std::string text = buffer_.substr(0, std::min(buffer_.size(), json_scanned_ + 1));
  if (json_arguments_ == 0) {
    const Json call = Json::parse(text, nullptr, false);
    const bool readable = call.is_object() && call.contains("name") && call["name"].is_string();
    begin(out, readable ? call["name"].get<std::string>() : std::string());
    if (readable) {
      const Json arguments = call.contains("arguments") ? call["arguments"] : call.contains("parameters") ? call["parameters"] : Json::object();
      append(out, arguments.is_string() ? arguments.get<std::string>() : arguments.dump(-1, ' ', false, Json::error_handler_t::replace));
    }
  }
  calls_.back().raw = text;
  calls_.back().complete = closed && Json::parse(calls_.back().arguments, nullptr, false).is_object();
  buffer_.erase(0, text.size());
  state_ = State::JsonDone;
  return true;
}

// A value ends at the close tag that the call's grammar can go on from: behind it stands the next key or the end of the call.
bool ToolCallParser::stepValue(std::vector<ToolCallDelta>& out, bool final) {
  std::size_t from = 0;
  for (;;) {
    const std::size_t at = buffer_.find(kValueClose, from);
    if (at == std::string::npos) break;
    const std::string_view after = std::string_view(buffer_).substr(at + kValueClose.size());
    bool undecided = false;
    const bool ends = behindTag(after, kKeyOpen, undecided) != std::string::npos || behindTag(after, kClose, undecided) != std::string::npos;
    if (ends || (final && undecided)) {
      const std::string value = buffer_.substr(0, at);
      consume(at + kValueClose.size());
      if (value_is_string_) {
        append(out, escaped(value) + "\"");
      } else {
        const Json parsed = Json::parse(trimmed(value), nullptr, false);
        append(out, parsed.is_discarded() ? "\"" + escaped(value) + "\"" : std::string(trimmed(value)));
      }
      state_ = State::AfterName;
      return true;
    }
    if (undecided) {
      from = at;
      break;
    }
    from = at + 1;
  }
  if (!value_is_string_) return false;
  // Give out what certainly belongs to the string.
  const std::size_t tag = buffer_.find(kValueClose, from);
  std::size_t safe = tag != std::string::npos ? tag : buffer_.size() - heldBack(buffer_, kValueClose);
  safe -= unfinishedCharacter(std::string_view(buffer_).substr(0, safe));
  if (safe == 0) return false;
  append(out, escaped(std::string_view(buffer_).substr(0, safe)));
  consume(safe);
  return false;
}

}  // namespace sluice
