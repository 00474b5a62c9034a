#pragma once
// From messages as clients send them (OpenAI's shape) to messages as one template takes them.

#include <functional>
#include <string>

#include <nlohmann/json.hpp>

#include "core/base/result.h"

namespace sluice {

struct ChatRequest;

/// How a turn that only calls tools states that it has no text.
enum class EmptyContent : unsigned char { Text, Null, Absent };

/// What a template takes, found by rendering small conversations through it.
struct MessageShape {
  bool calls_as_object = false;        // a call's arguments: an object; otherwise JSON text
  EmptyContent empty_content = EmptyContent::Text;
  bool user_parts = false;             // content as a list of text parts, by role
  bool system_parts = false;
  bool assistant_parts = false;
  bool tool_parts = false;
  bool user_parts_only = false;        // text is not printed; a list of parts is
  bool developer_role = false;         // otherwise `developer` is called `system`
  std::string reasoning_key = "reasoning_content";  // or reasoning, thinking: the one that the template prints
};

/// Probes a template. `render` gives the prompt's text, or an error when the template refuses.
MessageShape probeMessageShape(const std::function<Result<std::string>(const ChatRequest&)>& render);

/// Messages of a client, ready for a template of that shape:
/// arguments of calls parsed or kept as text; text parts joined where the template takes only text; null, "" and no content of a turn that
/// only calls made the one that the template takes; reasoning / thinking under the template's name for it; null fields dropped.
/// in      an array of objects with a `role`; read from text by parseChatJson
/// errors  BadRequest: which message, what is wrong (no role, a part that is not text, arguments that are not a JSON object)
/// threads pure
Result<nlohmann::ordered_json> prepareMessages(const MessageShape& shape, const nlohmann::ordered_json& messages);

}  // namespace sluice
