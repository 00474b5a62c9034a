#pragma once
// A model's own chat_template (Jinja) behind our interface: messages to authored text.

#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include "core/base/result.h"
#include "core/text/message_shape.h"
#include "core/text/tokenizer.h"

namespace sluice {

/// What a template is rendered with. `messages` is an array of objects as clients send them; `tools` an array or null; `arguments` an object of
/// further names (enable_thinking, reasoning_effort, ...). Whoever reads them from text (a file, a request's body) reads it with parseChatJson
/// (core/text/chat_json.h), which keeps every number's spelling. Messages are rendered as they stand: prepareMessages(template.shape(), ...)
/// (core/text/message_shape.h) first makes a client's messages into what the template takes.
struct ChatRequest {
  nlohmann::ordered_json messages;
  nlohmann::ordered_json tools;
  nlohmann::ordered_json arguments = nlohmann::ordered_json::object();
  bool add_generation_prompt = true;
  std::int64_t now_unix = 0;  // what strftime_now sees
};

class ChatTemplate {
 public:
  /// From chat_template.jinja, or else tokenizer_config.json's chat_template (a string, or a list of {name, template}: "default"), in `directory`;
  /// bos_token, eos_token and the like come from tokenizer_config.json.
  /// errors  NotFound (no template: says so and the cure), Corrupt (line and what was expected)
  static Result<ChatTemplate> load(const std::filesystem::path& directory);
  static Result<ChatTemplate> parse(std::string_view source, std::string_view name, const nlohmann::ordered_json& special_tokens = nlohmann::ordered_json::object());
  ChatTemplate(ChatTemplate&&) noexcept;
  ChatTemplate& operator=(ChatTemplate&&) noexcept;
  ~ChatTemplate();

  /// The prompt as runs of text, each with its author: the template's own literals are markup, whatever came from the request is not.
  /// errors  BadRequest (raise_exception: its message; or what failed, with the template's line)
  /// threads const; any thread
  Result<std::vector<AuthoredText>> render(const ChatRequest& request) const;
  const std::string& source() const;
  /// What the template takes, probed once by parse().
  const MessageShape& shape() const;

 private:
  struct Impl;
  explicit ChatTemplate(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

/// The runs joined.
std::string joined(const std::vector<AuthoredText>& parts);

}  // namespace sluice
