#pragma once
// Tool calls out of generated text, as it comes. Two forms:
//   GLM, Laguna:  <tool_call>NAME<arg_key>K</arg_key><arg_value>V</arg_value>...</tool_call>   (V raw when the parameter is a string, else JSON)
//   Qwen, Hermes: <tool_call>{"name": NAME, "arguments": {...}}</tool_call>
// A close tag inside a value does not close the call. What cannot be read is never replaced by an invented "{}": the call is marked and its text kept.

#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

namespace sluice {

struct ToolCall {
  std::string name;
  std::string arguments;  // JSON text of an object, as far as it came
  bool complete = false;  // the call was closed and its arguments are a JSON object
  std::string raw;        // everything between the tags, verbatim
};

/// What one push added to call `index`: its name once, then pieces of `arguments`.
struct ToolCallDelta {
  std::size_t index = 0;
  std::string name;
  std::string arguments;
};

/// Reads the inside of one turn's tool calls; the caller (the channel machine) strips nothing: tags come as text. A value: copying it copies its state.
class ToolCallParser {
 public:
  ToolCallParser() = default;
  /// `tools` in OpenAI's shape (or bare function objects); its schemas say which parameters are strings. May be null.
  explicit ToolCallParser(const nlohmann::ordered_json& tools);

  /// Takes text that begins at, or continues after, a "<tool_call>". Returns what became certain.
  std::vector<ToolCallDelta> push(std::string_view text);
  /// No more text comes. An open call stays incomplete.
  std::vector<ToolCallDelta> finish();
  /// Inside a call that has begun and is not closed.
  bool open() const { return state_ != State::Outside; }
  const std::vector<ToolCall>& calls() const { return calls_; }
  /// Text between calls that is not blank: belongs to the content.
  std::string takeStrayText();

 private:
  enum class State { Outside, Head, Json, JsonDone, AfterName, Key, BetweenKeyAndValue, Value };
  bool step(std::vector<ToolCallDelta>& out, bool final);
  bool stepHead(std::vector<ToolCallDelta>& out);
  void startJsonArguments(std::vector<ToolCallDelta>& out);
  bool stepJson(std::vector<ToolCallDelta>& out, bool final);
  bool stepValue(std::vector<ToolCallDelta>& out, bool final);
  void begin(std::vector<ToolCallDelta>& out, std::string name);
  void append(std::vector<ToolCallDelta>& out, std::string_view arguments);
  void close(std::vector<ToolCallDelta>& out);
  bool isString(const std::string& key) const;
  void consume(std::size_t bytes);

  std::map<std::string, std::map<std::string, bool>> string_parameters_;  // by function name, parameter
  std::vector<ToolCall> calls_;
  State state_ = State::Outside;
  std::string buffer_;  // text not understood yet
  std::string stray_;
  std::string key_;
  bool value_is_string_ = false;
  int arguments_given_ = 0;
  std::size_t json_scanned_ = 0;    // bytes of buffer_ that the brackets were counted in
  std::size_t json_arguments_ = 0;  // where the arguments begin in buffer_, once the name came before them; 0: not yet
  std::size_t json_given_ = 0;      // bytes of buffer_ handed out
  int json_depth_ = 0;
  bool json_in_string_ = false, json_escaped_ = false;
};

}  // namespace sluice
