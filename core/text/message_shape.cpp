#include "core/text/message_shape.h"

#include <array>
#include <string_view>

#include <fmt/format.h>

#include "core/text/chat_json.h"
#include "core/text/chat_template.h"

namespace sluice {

namespace {

using Json = nlohmann::ordered_json;

// Words that no template says of itself.
constexpr std::string_view kQuestion = "probe-question", kName = "probe_name", kKey = "probe_key", kAnswer = "probe-result", kWords = "probe-words";
constexpr std::string_view kCallId = "probeid00";  // nine letters and digits: Mistral's templates take no other
constexpr std::array<std::string_view, 3> kReasoningKeys = {"reasoning_content", "thinking", "reasoning"};  // as transformers ranks them

bool has(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

Json turn(std::string_view role, Json content) { return Json{{"role", role}, {"content", std::move(content)}}; }
Json toolTurn(Json content) { return Json{{"role", "tool"}, {"tool_call_id", kCallId}, {"name", kName}, {"content", std::move(content)}}; }
Json parts(std::string_view text) { return Json::array({Json{{"type", "text"}, {"text", text}}}); }

Json callTurn(bool as_object, EmptyContent empty) {
  const Json object{{kKey, kAnswer}};
  Json arguments = as_object ? object : Json(spellChatJson(object));
  Json message{{"role", "assistant"}};
  if (empty != EmptyContent::Absent) message["content"] = empty == EmptyContent::Null ? Json(nullptr) : Json("");
  message["tool_calls"] = Json::array({Json{{"id", kCallId}, {"type", "function"}, {"function", {{"name", kName}, {"arguments", std::move(arguments)}}}}});
  return message;
}

class Prober {
 public:
  explicit Prober(const std::function<Result<std::string>(const ChatRequest&)>& render) : render_(render) {}

  MessageShape probe() {
    MessageShape shape;
    shape.user_parts = saysParts(Json::array({turn("user", parts(kWords))}));
    const bool user_text = says(Json::array({turn("user", kWords)}));
    shape.user_parts_only = shape.user_parts && !user_text;
    question_ = turn("user", shape.user_parts_only ? parts(kQuestion) : Json(kQuestion));
    shape.system_parts = saysParts(Json::array({turn("system", parts(kWords)), question_}));
    shape.developer_role = says(Json::array({turn("developer", kWords), question_}));
    shape.assistant_parts = saysParts(Json::array({question_, turn("assistant", parts(kWords)), question_}));
    probeCalls(shape);
    shape.tool_parts = saysParts(Json::array({question_, call_, toolTurn(parts(kWords))}));
    probeReasoning(shape);
    return shape;
  }

 private:
  std::string prompt(Json messages) const {
    ChatRequest request;
    request.messages = std::move(messages);
    Result<std::string> text = render_(request);
    return text.ok() ? std::move(text).value() : std::string();
  }

  bool says(Json messages) const { return has(prompt(std::move(messages)), kWords); }
  /// The words of a part, and not the list printed around them.
  bool saysParts(Json messages) const {
    const std::string text = prompt(std::move(messages));
    return has(text, kWords) && !has(text, "'text'") && !has(text, "\"text\"");
  }

  /// Text is kept where both work: it is the model's own spelling.
  void probeCalls(MessageShape& shape) {
    call_ = callTurn(false, EmptyContent::Text);
    for (const bool as_object : {false, true}) {
      for (const EmptyContent empty : {EmptyContent::Text, EmptyContent::Null, EmptyContent::Absent}) {
        const Json call = callTurn(as_object, empty);
        const std::string text = prompt(Json::array({question_, call, toolTurn("1"), question_}));
        const bool said = (has(text, kName) || has(text, kCallId)) && has(text, kKey) && has(text, kAnswer) && !has(text, "None");
        // Arguments as text must stand as they are: a template that makes JSON of them would quote them twice.
        const bool whole = as_object ? !has(text, "{'") : has(text, spellChatJson(Json{{kKey, kAnswer}}));
        if (!said || !whole) continue;
        shape.calls_as_object = as_object;
        shape.empty_content = empty;
        call_ = call;
        return;
      }
    }
  }

  void probeReasoning(MessageShape& shape) const {
    for (const std::string_view key : kReasoningKeys) {
      Json thought = call_;
      thought[std::string(key)] = kWords;
      Json answer = turn("assistant", "1");
      answer[std::string(key)] = kWords;
      if (!says(Json::array({question_, thought, toolTurn("1")})) && !says(Json::array({question_, answer}))) continue;
      shape.reasoning_key = key;
      return;
    }
  }

  const std::function<Result<std::string>(const ChatRequest&)>& render_;
  Json question_, call_;
};

Error bad(std::size_t index, std::string_view what) { return Error{Errc::BadRequest, fmt::format("messages[{}] {}", index, what)}; }

bool hasCalls(const Json& message) { return message.contains("tool_calls") && message["tool_calls"].is_array() && !message["tool_calls"].empty(); }

/// A list of parts as one text, or as it is where the template reads lists.
Result<Json> preparedContent(const Json& content, bool keep_parts, std::size_t index) {
  if (content.is_string() || content.is_null()) return content;
  if (!content.is_array()) return bad(index, "has content that is neither text nor a list of parts");
  std::string text;
  for (const Json& part : content) {
    if (part.is_string()) {
      text += part.get_ref<const std::string&>();
      continue;
    }
    if (!part.is_object()) return bad(index, "has a content part that is not an object");
    const std::string type = part.contains("type") && part["type"].is_string() ? part["type"].get<std::string>() : "(none)";
    const bool is_text = (type == "text" || type == "input_text" || type == "output_text") && part.contains("text") && part["text"].is_string();
    if (!is_text) return bad(index, fmt::format("has a content part of type '{}'; this engine reads text only", type));
    text += part["text"].get_ref<const std::string&>();
  }
  return keep_parts ? content : Json(text);
}

Result<Json> preparedCalls(const MessageShape& shape, const Json& calls, std::size_t index) {
  Json prepared = Json::array();
  for (std::size_t i = 0; i < calls.size(); ++i) {
    Json call = calls[i];
    if (!call.is_object()) return bad(index, fmt::format("tool_calls[{}] is not an object", i));
    const bool wrapped = call.contains("function") && call["function"].is_object();
    Json& function = wrapped ? call["function"] : call;
    if (!function.contains("name") || !function["name"].is_string()) return bad(index, fmt::format("tool_calls[{}] has no function name", i));
    Json arguments = function.contains("arguments") ? function["arguments"] : Json(nullptr);
    if (shape.calls_as_object && !arguments.is_object()) {
      const std::string text = arguments.is_string() ? arguments.get<std::string>() : "";
      const bool blank = text.find_first_not_of(" \t\r\n") == std::string::npos;
      auto parsed = blank ? Result<Json>(Json::object()) : parseChatJson(text, fmt::format("messages[{}].tool_calls[{}].function.arguments", index, i));
      if (!parsed.ok()) return parsed.error();
      if (!(arguments.is_string() || arguments.is_null()) || !parsed.value().is_object())
        return bad(index, fmt::format("tool_calls[{}] has arguments that are not a JSON object", i));
      arguments = std::move(parsed).value();
    } else if (!shape.calls_as_object && !arguments.is_string()) {
      arguments = arguments.is_null() ? "{}" : spellChatJson(arguments);
    }
    function["arguments"] = std::move(arguments);
    prepared.push_back(std::move(call));
  }
  return prepared;
}

bool keepsParts(const MessageShape& shape, const std::string& role) {
  if (role == "user") return shape.user_parts;
  if (role == "assistant") return shape.assistant_parts;
  return role == "tool" ? shape.tool_parts : shape.system_parts;
}

Result<Json> preparedMessage(const MessageShape& shape, const Json& message, std::size_t index) {
  if (!message.is_object()) return bad(index, "is not an object");
  if (!message.contains("role") || !message["role"].is_string()) return bad(index, "has no role");
  std::string role = message["role"].get<std::string>();
  if (role == "developer" && !shape.developer_role) role = "system";
  Json prepared{{"role", role}};
  Json content = TRY(preparedContent(message.contains("content") ? message["content"] : Json(nullptr), keepsParts(shape, role), index));
  const bool empty = content.is_null() || (content.is_string() && content.get_ref<const std::string&>().empty());
  if (role == "assistant" && empty && hasCalls(message)) {
    if (shape.empty_content != EmptyContent::Absent) prepared["content"] = shape.empty_content == EmptyContent::Null ? Json(nullptr) : Json("");
  } else {
    if (content.is_null() && role != "assistant" && role != "tool") return bad(index, fmt::format("of role '{}' has no content", role));
    if (content.is_null()) content = "";
    if (role == "user" && shape.user_parts_only && content.is_string()) content = parts(content.get<std::string>());
    prepared["content"] = std::move(content);
  }
  for (const std::string_view key : kReasoningKeys) {
    const auto found = message.find(std::string(key));
    if (found == message.end() || !found->is_string() || prepared.contains(shape.reasoning_key)) continue;
    prepared[shape.reasoning_key] = *found;
  }
  for (const auto& [key, value] : message.items()) {
    const bool reasoning = key == kReasoningKeys[0] || key == kReasoningKeys[1] || key == kReasoningKeys[2];
    if (key == "role" || key == "content" || reasoning || value.is_null()) continue;
    if (key != "tool_calls") {
      prepared[key] = value;
    } else if (hasCalls(message)) {
      prepared[key] = TRY(preparedCalls(shape, value, index));
    } else if (!value.is_array()) {
      return bad(index, "has tool_calls that are not a list");
    }
  }
  return prepared;
}

}  // namespace

MessageShape probeMessageShape(const std::function<Result<std::string>(const ChatRequest&)>& render) { return Prober(render).probe(); }

Result<Json> prepareMessages(const MessageShape& shape, const Json& messages) {
  if (!messages.is_array()) return Error{Errc::BadRequest, "messages must be a list of objects with role and content"};
  Json prepared = Json::array();
  for (std::size_t i = 0; i < messages.size(); ++i) prepared.push_back(TRY(preparedMessage(shape, messages[i], i)));
  return prepared;
}

}  // namespace sluice
