// Goal:   an error says which template, which line and what; templates come from a model directory as it is.
// Method: faults placed on known lines; directories written by the test.

#include <stdlib.h>

#include "tests/jinja/template_rows.h"

namespace sluice {
namespace {

TEST(TemplateError, NamesTheTemplateAndTheLine) {
  const auto says = [](const std::string& source, const std::string& words) { EXPECT_NE(rendered(source).find(words), std::string::npos) << rendered(source); };
  says("a\nb\n{{ 1 + }}", "chat template 't', line 3: unexpected 'end of print statement'");
  says("a\n{% if x %}\n", "line 2: unexpected end of template; looked for elif or else or endif");
  says("\n\n{{ 'x' | nofilter }}", "line 3: No filter named 'nofilter'.");
  says("{{ 1 is\nnotest }}", "No test named 'notest'.");
  says("\n{{ x | urlize }}", "line 2: the filter 'urlize' of Jinja2 is not supported here");
  says("\n\n\n{{ missing.attr }}", "line 4: 'missing' is undefined");
  says("\n{{ {}.a.b }}", "line 2: 'dict object' has no attribute 'a'");
  says("{% macro m(x) %}\n{{ x.y }}\n{% endmacro %}\n\n{{ m() }}", "line 2: parameter 'x' was not provided");
  says("{% macro m(x) %}\n{{ x }}\n{% endmacro %}\n\n{{ m(1) + 1 }}", "line 5: can only concatenate str (not \"int\") to str");
  says("\n{{ 1 / 0 }}", "line 2: division by zero");
  says("\n\n{% for x in 5 %}{% endfor %}", "line 3: 'int' object is not iterable");
  says("\n{{ [].append(1) }}", "line 2: access to attribute 'append' of 'list' object is unsafe.");
  says("\n{% include 'x' %}", "line 2: 'include' is not supported");
  says("\n{{ raise_exception('Roles must alternate') }}", "line 2: Roles must alternate");
  says("{% break %}", "'break' outside loop");
  says("{{ 'open }}", "never closed");
  says("{% nosuch %}", "unknown tag 'nosuch'");
}

TEST(TemplateError, KindsTellWhoseFaultItIs) {
  EXPECT_EQ(ChatTemplate::parse("{% if %}", "t").error().code, Errc::Corrupt);
  EXPECT_EQ(ChatTemplate::parse("{{ x | random }}", "t").error().code, Errc::Unsupported);
  auto chat = ChatTemplate::parse("{{ raise_exception('no') }}", "t");
  ASSERT_TRUE(chat.ok());
  ChatRequest request;
  request.messages = Json::array();
  EXPECT_EQ(chat.value().render(request).error().code, Errc::BadRequest);
  request.messages = "text";
  EXPECT_EQ(chat.value().render(request).error().code, Errc::BadRequest);
}

TEST(TemplateError, UnknownFiltersInsideConditionsFailOnlyWhenReached) {
  EXPECT_EQ(rendered("{% if false %}{{ 1 | nofilter }}{% endif %}x"), "x");
  EXPECT_EQ(rendered("{{ (1 | nofilter) if false else 'x' }}"), "x");
  EXPECT_TRUE(isError(rendered("{% if true %}{{ 1 | nofilter }}{% endif %}x")));
  EXPECT_TRUE(isError(rendered("{% if false %}{% for i in [] %}{{ 1 | nofilter }}{% endfor %}{% endif %}x")));
}

class TemplateDirectory : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (std::filesystem::temp_directory_path() / "sluice-template-XXXXXX").string();
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    directory_ = pattern;
  }
  void TearDown() override { std::filesystem::remove_all(directory_); }
  void write(const std::string& name, const std::string& text) const { std::ofstream(directory_ / name, std::ios::binary) << text; }
  std::string prompt() const {
    auto chat = ChatTemplate::load(directory_);
    if (!chat.ok()) return "ERROR: " + chat.error().what;
    ChatRequest request;
    request.messages = Json::array();
    return rendered(chat.value(), request);
  }
  std::filesystem::path directory_;
};

TEST_F(TemplateDirectory, TakesTheOwnFileFirstAndTokensFromTheConfig) {
  write("tokenizer_config.json", R"({"bos_token": "<s>", "eos_token": {"content": "</s>", "lstrip": false}, "chat_template": "config{{ bos_token }}{{ eos_token }}"})");
  EXPECT_EQ(prompt(), "config<s></s>");
  write("chat_template.jinja", "file{{ bos_token }}");
  EXPECT_EQ(prompt(), "file<s>");
}

TEST_F(TemplateDirectory, TakesTheDefaultOfAList) {
  write("tokenizer_config.json", R"({"chat_template": [{"name": "tool_use", "template": "t"}, {"name": "default", "template": "d"}]})");
  EXPECT_EQ(prompt(), "d");
  write("tokenizer_config.json", R"({"chat_template": [{"name": "tool_use", "template": "t"}]})");
  EXPECT_NE(prompt().find("none of them called \"default\""), std::string::npos);
}

TEST_F(TemplateDirectory, SaysThatThereIsNoneAndWhatToDo) {
  EXPECT_NE(prompt().find("put the model's template there"), std::string::npos) << prompt();
  write("tokenizer_config.json", "{}");
  EXPECT_NE(prompt().find("has no chat_template"), std::string::npos) << prompt();
  write("tokenizer_config.json", "{");
  EXPECT_NE(prompt().find("is not JSON: line 1"), std::string::npos) << prompt();
}

}  // namespace
}  // namespace sluice
