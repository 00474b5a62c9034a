#include "core/text/chat_template.h"

#include <utility>

#include <fmt/format.h>

#include "core/base/file.h"
#include "core/text/chat_json.h"
#include "core/text/jinja/json.h"
#include "core/text/jinja/parser.h"
#include "core/text/jinja/run.h"

namespace sluice {

namespace {

using Json = nlohmann::ordered_json;

constexpr Bytes kTemplateBytesMax{4u << 20};  // the largest published ones have 30 KiB
constexpr Bytes kConfigBytesMax{64u << 20};   // tokenizer_config.json lists every added token in old models

/// Special tokens of a tokenizer_config.json: bos_token and the like, as text or as {"content": text}.
Json specialTokens(const Json& config) {
  Json tokens = Json::object();
  for (const auto& [key, value] : config.items()) {
    if (key.size() < 7 || key.compare(key.size() - 6, 6, "_token") != 0) continue;
    if (value.is_string()) tokens[key] = value;
    if (value.is_object() && value.contains("content") && value["content"].is_string()) tokens[key] = value["content"];
  }
  return tokens;
}

/// The template in a tokenizer_config.json: text, or the one called "default" of a list.
Result<std::string> templateIn(const Json& config, const std::filesystem::path& file) {
  const Error none{Errc::NotFound, fmt::format("{} has no chat_template, and there is no chat_template.jinja beside it: put the model's template "
                                               "there, or send plain text to a command that takes a prompt", file.string())};
  if (!config.is_object() || !config.contains("chat_template")) return none;
  const Json& given = config["chat_template"];
  if (given.is_string()) return given.get<std::string>();
  if (!given.is_array()) return none;
  for (const Json& entry : given) {
    const bool named = entry.is_object() && entry.contains("name") && entry.contains("template") && entry["template"].is_string();
    if (named && entry["name"] == "default") return entry["template"].get<std::string>();
  }
  return Error{Errc::NotFound, fmt::format("{} lists chat templates, none of them called \"default\"", file.string())};
}

}  // namespace

struct ChatTemplate::Impl {
  std::string source, name;
  jinja::Program program;
  Json special_tokens;
  MessageShape shape;

  Result<jinja::Text> render(const ChatRequest& request, const jinja::Limits& limits) const {
    jinja::Run run(program, name, request.now_unix, limits);
    for (const auto& [key, value] : special_tokens.items()) run.bind(key, TRY(jinja::valueOf(run, value, true)));
    run.bind("messages", TRY(jinja::valueOf(run, request.messages, false)));
    run.bind("tools", TRY(jinja::valueOf(run, request.tools, false)));
    run.bind("documents", jinja::Value());
    run.bind("add_generation_prompt", jinja::Value::boolean(request.add_generation_prompt));
    for (const auto& [key, value] : request.arguments.items()) run.bind(key, TRY(jinja::valueOf(run, value, false)));
    return run.render();
  }
};

ChatTemplate::ChatTemplate(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
ChatTemplate::ChatTemplate(ChatTemplate&&) noexcept = default;
ChatTemplate& ChatTemplate::operator=(ChatTemplate&&) noexcept = default;
ChatTemplate::~ChatTemplate() = default;

Result<ChatTemplate> ChatTemplate::parse(std::string_view source, std::string_view name, const Json& special_tokens) {
  auto impl = std::make_unique<Impl>();
  impl->source = source;
  impl->name = name;
  impl->program = TRY(jinja::parseTemplate(source, name));
  impl->special_tokens = special_tokens;
  // A probe's conversation has three turns: what needs more than this to print it is not a chat template.
  jinja::Limits limits;
  limits.steps = 300'000;
  impl->shape = probeMessageShape([&](const ChatRequest& request) -> Result<std::string> { return TRY(impl->render(request, limits)).bytes(); });
  return ChatTemplate(std::move(impl));
}

Result<ChatTemplate> ChatTemplate::load(const std::filesystem::path& directory) {
  const std::filesystem::path config_file = directory / "tokenizer_config.json", own_file = directory / "chat_template.jinja";
  Json config = Json::object();
  auto config_text = readWholeFile(config_file, kConfigBytesMax);
  if (config_text.ok()) {
    auto parsed = parseChatJson(config_text.value(), config_file.string());
    if (!parsed.ok()) return Error{Errc::Corrupt, parsed.error().what};
    config = std::move(parsed).value();
  } else if (config_text.error().code != Errc::NotFound) {
    return config_text.error();
  }
  auto own = readWholeFile(own_file, kTemplateBytesMax);
  if (own.ok()) return parse(own.value(), own_file.string(), specialTokens(config));
  if (own.error().code != Errc::NotFound) return own.error();
  return parse(TRY(templateIn(config, config_file)), config_file.string(), specialTokens(config));
}

Result<std::vector<AuthoredText>> ChatTemplate::render(const ChatRequest& request) const {
  if (!request.messages.is_array()) return Error{Errc::BadRequest, "messages must be a list of objects with role and content"};
  if (!request.arguments.is_object() && !request.arguments.is_null()) return Error{Errc::BadRequest, "a template's arguments must be an object"};
  const jinja::Text text = TRY(impl_->render(request, jinja::Limits{}));
  std::vector<AuthoredText> parts;
  for (std::size_t from = 0; from < text.size();) {
    const bool markup = text.markupAt(from);
    std::size_t end = from + 1;
    while (end < text.size() && text.markupAt(end) == markup) ++end;
    parts.push_back({text.bytes().substr(from, end - from), markup});
    from = end;
  }
  return parts;
}

const std::string& ChatTemplate::source() const { return impl_->source; }
const MessageShape& ChatTemplate::shape() const { return impl_->shape; }

std::string joined(const std::vector<AuthoredText>& parts) {
  std::string text;
  for (const AuthoredText& part : parts) text += part.text;
  return text;
}

}  // namespace sluice
