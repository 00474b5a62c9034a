#include "cli/prompt_input.h"

#include <ctime>

#include <fmt/format.h>

#include "core/base/file.h"
#include "core/text/chat_json.h"

namespace sluice {

using Json = nlohmann::ordered_json;

namespace {

constexpr Bytes kInputBytesMax = 256_MiB;

}  // namespace

Result<std::string> readInput(const std::filesystem::path& path, const char* flag) {
  Result<std::string> text = readWholeFile(path == "-" ? std::filesystem::path("/dev/stdin") : path, kInputBytesMax);
  if (!text.ok()) return Error{Errc::BadRequest, fmt::format("{}: {}", flag, text.error().what)};
  return text;
}

Result<std::vector<TokenId>> parseIds(const std::string& json, const std::string& name) {
  const Json list = TRY(parseChatJson(json, name));
  if (!list.is_array()) return Error{Errc::BadRequest, fmt::format("{} is not a JSON array of token ids", name)};
  std::vector<TokenId> ids;
  ids.reserve(list.size());
  for (std::size_t i = 0; i < list.size(); ++i) {
    const Json& entry = list[i];
    if (!entry.is_number_integer() || entry < 0 || entry > 0x7fffffff)
      return Error{Errc::BadRequest, fmt::format("{}: entry {} is {}, and ids are whole numbers from 0 on", name, i, spellChatJson(entry).substr(0, 40))};
    ids.push_back(TokenId(entry.get<std::uint32_t>()));
  }
  return ids;
}

Result<std::vector<TokenId>> readIds(const std::filesystem::path& path) {
  const std::string text = TRY(readInput(path, "--ids-file"));
  return parseIds(text, path.string());
}

Result<Json> templateArguments(const PromptOptions& options) {
  Json arguments = Json::object();
  if (!options.template_arguments.empty()) arguments = TRY(parseChatJson(options.template_arguments, "--template-kwargs"));
  if (!arguments.is_object()) return Error{Errc::BadRequest, "--template-kwargs is not a JSON object, like {\"reasoning_effort\": \"high\"}"};
  if (options.no_think) {
    if (arguments.contains("enable_thinking") && arguments["enable_thinking"] != false)
      return Error{Errc::BadRequest, "--no-think contradicts enable_thinking in --template-kwargs; leave one of them out"};
    arguments["enable_thinking"] = false;
  }
  return arguments;
}

Result<ChatRequest> chatRequestOf(const PromptOptions& options) {
  ChatRequest request;
  request.now_unix = std::int64_t(std::time(nullptr));
  request.arguments = TRY(templateArguments(options));
  if (options.text) {
    request.messages = Json::array({{{"role", "user"}, {"content", *options.text}}});
    return request;
  }
  const std::string text = TRY(readInput(options.messages, "--messages"));
  const Json given = TRY(parseChatJson(text, "--messages " + options.messages.string()));
  if (given.is_object() && given.contains("messages")) {
    request.messages = given["messages"];
    if (given.contains("tools")) request.tools = given["tools"];
  } else {
    request.messages = given;
  }
  if (!request.messages.is_array() || request.messages.empty())
    return Error{Errc::BadRequest, "--messages wants a JSON array of messages, or an object {messages, tools}, and at least one message"};
  for (std::size_t i = 0; i < request.messages.size(); ++i) {
    const Json& message = request.messages[i];
    if (!message.is_object() || !message.contains("role") || !message["role"].is_string())
      return Error{Errc::BadRequest, fmt::format("--messages: message {} is not an object with a role", i)};
  }
  if (!request.tools.is_null() && !request.tools.is_array()) return Error{Errc::BadRequest, "--messages: tools is not an array"};
  return request;
}

Result<std::vector<TokenId>> chatPrompt(const App& app, ChatRequest request) {
  CHECK(app.chat != nullptr);
  request.messages = TRY(prepareMessages(app.chat->shape(), request.messages));
  const std::vector<AuthoredText> rendered = TRY(app.chat->render(request));
  return app.engine->promptOf(rendered);
}

TextNeed textNeedOf(const PromptOptions& options) {
  if (!options.ids.empty()) return TextNeed::Optional;
  return options.prompt.empty() ? TextNeed::Chat : TextNeed::Required;
}

Result<std::vector<TokenId>> promptIds(const App& app, const PromptOptions& options) {
  if (!options.ids.empty()) return readIds(options.ids);
  if (!options.prompt.empty()) {
    const std::string text = TRY(readInput(options.prompt, "--prompt"));
    return app.engine->promptOf(std::string_view(text));
  }
  ChatRequest request = TRY(chatRequestOf(options));
  return chatPrompt(app, std::move(request));
}

}  // namespace sluice
