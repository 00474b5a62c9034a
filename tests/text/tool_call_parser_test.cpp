// Goal:   tool calls come out of generated text whole, typed and streamed, whatever the pieces it came in.
// Method: calls of both forms, each split at every pair of places; the joined deltas must equal the whole.

#include "core/text/tool_call_parser.h"

#include <gtest/gtest.h>

namespace sluice {
namespace {

using Json = nlohmann::ordered_json;

const Json kTools = Json::parse(R"([{"type":"function","function":{"name":"write_file","parameters":{"type":"object","properties":{"path":{"type":"string"},"content":{"type":"string"},"mode":{"type":"integer"}}}}},
  {"name":"search","parameters":{"properties":{"query":{"type":"string"},"limit":{"type":"integer"},"tags":{"type":"array"}}}}])");

struct Case {
  const char* text;
  std::vector<ToolCall> calls;  // raw is not compared here
  const char* stray;
};

const std::vector<Case> kCases = {
    {"<tool_call>search<arg_key>query</arg_key><arg_value>  two words\n</arg_value><arg_key>limit</arg_key><arg_value>3</arg_value></tool_call>",
     {{"search", R"({"query": "  two words\n", "limit": 3})", true, ""}}, ""},
    {"<tool_call>search\n<arg_key>query</arg_key>\n<arg_value>123</arg_value>\n<arg_key>tags</arg_key>\n<arg_value>[\"a\", 1.50]</arg_value>\n</tool_call>",
     {{"search", R"({"query": "123", "tags": ["a", 1.50]})", true, ""}}, ""},
    {"<tool_call>now</tool_call>", {{"now", "{}", true, ""}}, ""},
    // A close tag inside a value, and an end of value that is none.
    {"<tool_call>write_file<arg_key>content</arg_key><arg_value>echo \"</tool_call>\" </arg_value> and more</arg_value><arg_key>path</arg_key><arg_value>a.sh</arg_value></tool_call>",
     {{"write_file", R"({"content": "echo \"</tool_call>\" </arg_value> and more", "path": "a.sh"})", true, ""}}, ""},
    // The opening tag of a value is missing: recovered, not replaced by {}.
    {"<tool_call>search<arg_key>query</arg_key>vacation days</arg_value></tool_call>", {{"search", R"({"query": "vacation days"})", true, ""}}, ""},
    // Two calls, text between them.
    {"<tool_call>now</tool_call>\nand<tool_call>search<arg_key>query</arg_key><arg_value>é😀</arg_value></tool_call>",
     {{"now", "{}", true, ""}, {"search", R"({"query": "é😀"})", true, ""}}, "and"},
    // Unknown function: JSON where it parses, else text.
    {"<tool_call>f<arg_key>a</arg_key><arg_value>true</arg_value><arg_key>b</arg_key><arg_value>yes</arg_value></tool_call>", {{"f", R"({"a": true, "b": "yes"})", true, ""}}, ""},
    {"<tool_call>\n{\"name\": \"search\", \"arguments\": {\"query\": \"a } </tool_call> \\\" b\", \"limit\": 3}}\n</tool_call>",
     {{"search", R"({"query": "a } </tool_call> \" b", "limit": 3})", true, ""}}, ""},
    {"<tool_call>{\"arguments\": {\"a\": [1, 2]}, \"name\": \"f\"}</tool_call>", {{"f", R"({"a":[1,2]})", true, ""}}, ""},
    // Cut: never complete, nothing invented.
    {"<tool_call>write_file<arg_key>content</arg_key><arg_value>abc", {{"write_file", R"({"content": "abc)", false, ""}}, ""},
    {"<tool_call>{\"name\": \"f\", \"arguments\": {\"a\": [1,", {{"f", R"({"a": [1,)", false, ""}}, ""},
    {"<tool_call>{\"name\": 3}</tool_call>", {{"", "", false, ""}}, ""},
};

std::string describe(const std::vector<ToolCall>& calls) {
  std::string s;
  for (const ToolCall& c : calls) s += c.name + "(" + c.arguments + ")" + (c.complete ? "" : "...") + ";";
  return s;
}

TEST(ToolCallParser, ReadsBothForms_HoweverTheTextIsSplit) {
  for (const Case& c : kCases) {
    const std::string text = c.text;
    for (std::size_t first = 0; first <= text.size(); ++first) {
      for (const std::size_t step : {std::size_t(1), std::size_t(7), text.size()}) {
        const std::size_t second = std::min(text.size(), first + step);
        ToolCallParser parser(kTools);
        std::vector<ToolCall> streamed;
        const auto take = [&](const std::vector<ToolCallDelta>& deltas) {
          for (const ToolCallDelta& d : deltas) {
            if (d.index == streamed.size()) streamed.push_back({d.name, "", false, ""});
            ASSERT_LT(d.index, streamed.size());
            streamed[d.index].arguments += d.arguments;
          }
        };
        take(parser.push(text.substr(0, first)));
        take(parser.push(text.substr(first, second - first)));
        take(parser.push(text.substr(second)));
        take(parser.finish());
        ASSERT_EQ(describe(parser.calls()), describe(c.calls)) << text << "\nsplit at " << first << ", " << second;
        ASSERT_EQ(streamed.size(), c.calls.size()) << text;
        for (std::size_t i = 0; i < streamed.size(); ++i) {
          ASSERT_EQ(streamed[i].name, c.calls[i].name);
          ASSERT_EQ(streamed[i].arguments, c.calls[i].arguments) << text << "\nsplit at " << first << ", " << second;
        }
        ASSERT_EQ(parser.takeStrayText(), c.stray) << text << "\nsplit at " << first;
      }
    }
  }
}

TEST(ToolCallParser, StreamsLongArguments_InBothForms) {
  const std::string body(2000, 'x');
  for (const std::string& head : {std::string("<tool_call>write_file<arg_key>content</arg_key><arg_value>"), std::string("<tool_call>{\"name\": \"write_file\", \"arguments\": {\"content\": \"")}) {
    ToolCallParser parser(kTools);
    (void)parser.push(head);
    std::size_t given = 0;
    for (const char c : body)
      for (const ToolCallDelta& d : parser.push(std::string(1, c))) given += d.arguments.size();
    EXPECT_GT(given, body.size() - 20) << head;
    EXPECT_TRUE(parser.open());
  }
}

TEST(ToolCallParser, KeepsTheTextOfACallThatItCannotRead) {
  ToolCallParser parser(kTools);
  (void)parser.push("<tool_call>{\"name\": oops}</tool_call>");
  (void)parser.finish();
  ASSERT_EQ(parser.calls().size(), 1u);
  EXPECT_FALSE(parser.calls()[0].complete);
  EXPECT_EQ(parser.calls()[0].raw, "{\"name\": oops}");
  EXPECT_FALSE(parser.open());
}

}  // namespace
}  // namespace sluice
