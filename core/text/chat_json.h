#pragma once
// JSON for chats: numbers keep the spelling that Python gives them, so that a prompt says what the client said.

#include <optional>
#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

#include "core/base/result.h"

namespace sluice {

/// Reads one JSON value. Whoever fills a ChatRequest from text (files, request bodies) reads it with this: nlohmann's own parser turns
/// integers beyond 64 bits into rounded doubles and refuses 1e400. Here an integer that fits neither int64 nor uint64 becomes a `binary`
/// value that holds its digits (JSON text cannot make one otherwise; bigIntegerSpelling reads it), and a float too large is infinite, as in
/// Python. 1.0 stays a float, 1 an integer. Of a name given twice the last value counts, in the first one's place. Nesting is limited to 128.
/// errors  BadRequest: `name`, line and column, and what was expected
Result<nlohmann::ordered_json> parseChatJson(std::string_view text, std::string_view name);

/// The digits of an integer beyond 64 bits that parseChatJson kept; nothing for every other value.
std::optional<std::string> bigIntegerSpelling(const nlohmann::ordered_json& value);

/// The way back, spelled as Python's json.dumps(ensure_ascii=False) does: `{"a": 1.0, "b": [1, 2]}`.
std::string spellChatJson(const nlohmann::ordered_json& value);

}  // namespace sluice
