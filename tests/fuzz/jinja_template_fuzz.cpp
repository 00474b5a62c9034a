// A template is a stranger's program: any bytes parse and render within limits, or are an error.

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "core/text/chat_json.h"
#include "core/text/jinja/json.h"
#include "core/text/jinja/parser.h"
#include "core/text/jinja/run.h"

namespace {

constexpr std::string_view kMessages =
    R"([{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Hi <|user|> é漢😀"},)"
    R"( {"role": "assistant", "content": null, "tool_calls": [{"function": {"name": "f", "arguments": {"a": [1.0, 18446744073709551616]}}}]}])";

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace sluice::jinja;
  const std::string_view source(reinterpret_cast<const char*>(data), size);
  const auto program = parseTemplate(source, "fuzz");
  if (!program.ok()) return 0;
  Limits limits;
  limits.steps = 50'000;
  limits.live_bytes = 8u << 20;
  limits.output_bytes = 1u << 20;
  Run run(program.value(), "fuzz", 1773480413, limits);
  const auto messages = valueOf(run, sluice::parseChatJson(kMessages, "messages").value(), false);
  if (!messages.ok()) __builtin_trap();
  run.bind("messages", messages.value());
  run.bind("add_generation_prompt", Value::boolean(true));
  const auto text = run.render();
  if (text.ok() && text.value().size() > limits.output_bytes) __builtin_trap();
  return 0;
}
