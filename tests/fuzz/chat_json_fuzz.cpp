// Any bytes are a JSON value or an error; what was read and spelled reads back as the same spelling.

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "core/text/chat_json.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto value = sluice::parseChatJson(std::string_view(reinterpret_cast<const char*>(data), size), "fuzz");
  if (!value.ok()) return 0;
  const std::string spelled = sluice::spellChatJson(value.value());
  if (spelled.find("Infinity") != std::string::npos) return 0;  // Python's own spelling of 1e400, which is no JSON
  const auto again = sluice::parseChatJson(spelled, "fuzz");
  if (!again.ok() || sluice::spellChatJson(again.value()) != spelled) __builtin_trap();
  return 0;
}
