// Goal:   whatever a client sends of the same conversation, a template gets it in the form that it takes.
// Method: vendors' templates (fetched by ./setup --dev) and our own: conversations of the goldens in which clients spell one thing in several
//         ways must give the prompt that the reference printed for the spelling that the template takes. What each takes is in the goldens:
//         rows that fail or lose a call against rows that do not.

#include "tests/jinja/template_rows.h"

namespace sluice {
namespace {

const Json kText = Json::array({Json{{"type", "text"}, {"text", "one "}}, Json{{"type", "text"}, {"text", "two"}}});

Json callMessage(const Json& content, const Json& arguments) {
  return Json{{"role", "assistant"},
              {"content", content},
              {"tool_calls", Json::array({Json{{"id", "c1"}, {"type", "function"}, {"function", Json{{"name", "look"}, {"arguments", arguments}}}}})}};
}

Json conversation(const Json& call) {
  return Json::array({Json{{"role", "user"}, {"content", "Hi"}}, call, Json{{"role", "tool"}, {"tool_call_id", "c1"}, {"content", "found"}}});
}

std::string promptOf(const ChatTemplate& chat, const Json& messages) {
  auto prepared = prepareMessages(chat.shape(), messages);
  if (!prepared.ok()) return "ERROR: " + prepared.error().what;
  ChatRequest request;
  request.messages = prepared.value();
  request.arguments = Json{{"bos_token", "<s>"}, {"eos_token", "</s>"}};
  return rendered(chat, request);
}

std::vector<std::filesystem::path> callingTemplates() {
  std::vector<std::filesystem::path> files;
  for (const char* own : {"glm-5.2", "glm-4.7", "laguna", "qwen3", "deepseek", "harmony"}) files.push_back(goldenTemplates() / (std::string(own) + ".jinja"));
  for (const char* vendor : {"qwen3", "deepseek_v3", "qwen3_tito", "qwen3_2507_tito", "qwen3.5_tito", "kimi_k2.5_tito", "minimax_m2.5_tito"})
    files.push_back(vendorTemplate(vendor));
  return files;
}

class MessageShapes : public ::testing::Test {
 protected:
  void SetUp() override { ASSERT_TRUE(std::filesystem::exists(vendorTemplate("qwen3"))) << "build/dev/templates/qwen3.jinja is missing: run ./setup --dev"; }
  TemplateShelf shelf_;
};

TEST_F(MessageShapes, AreWhatEachTemplateTakes) {
  // As the goldens have it: rows call / args_text / call_null_content / call_no_content of each.
  const auto shape = [&](const std::filesystem::path& file) { return shelf_.at(file).shape(); };
  for (const char* object : {"glm-5.2", "laguna"}) EXPECT_TRUE(shape(goldenTemplates() / (std::string(object) + ".jinja")).calls_as_object) << object;
  for (const char* object : {"qwen3.5_tito", "minimax_m2.5_tito"}) EXPECT_TRUE(shape(vendorTemplate(object)).calls_as_object) << object;
  for (const char* text : {"qwen3", "deepseek_v3", "kimi_k2.5_tito"}) EXPECT_FALSE(shape(vendorTemplate(text)).calls_as_object) << text;
  EXPECT_EQ(shape(vendorTemplate("deepseek_v3")).empty_content, EmptyContent::Null);
  EXPECT_EQ(shape(vendorTemplate("qwen3")).empty_content, EmptyContent::Text);
  EXPECT_EQ(shape(vendorTemplate("minimax_m2.5_tito")).empty_content, EmptyContent::Text);
  for (const char* text_only : {"qwen3", "deepseek_v3", "llama3"}) EXPECT_FALSE(shape(vendorTemplate(text_only)).user_parts) << text_only;
  EXPECT_FALSE(shape(goldenTemplates() / "olmoe.jinja").user_parts);
  EXPECT_TRUE(shape(goldenTemplates() / "glm-5.2.jinja").user_parts);
  EXPECT_TRUE(shape(vendorTemplate("qwen3.5_tito")).user_parts);
  EXPECT_TRUE(shape(goldenTemplates() / "glm-5.2.jinja").developer_role);
  EXPECT_FALSE(shape(vendorTemplate("qwen3.5_tito")).developer_role);
  EXPECT_EQ(shape(vendorTemplate("qwen3")).reasoning_key, "reasoning_content");
}

TEST_F(MessageShapes, MakeOnePromptOfEverySpellingOfACall) {
  for (const auto& file : callingTemplates()) {
    const ChatTemplate& chat = shelf_.at(file);
    const std::string wanted = promptOf(chat, conversation(callMessage("", R"({"place": "mill", "n": 1.0})")));
    EXPECT_FALSE(isError(wanted)) << file << wanted;
    // Kimi's template names a call by its id.
    EXPECT_TRUE(wanted.find("look") != std::string::npos || wanted.find("c1") != std::string::npos) << file << wanted;
    for (const char* part : {"place", "mill", "1.0", "found"}) EXPECT_NE(wanted.find(part), std::string::npos) << file << ": " << part << " in " << wanted;
    EXPECT_EQ(wanted.find("None"), std::string::npos) << file << wanted;
    EXPECT_EQ(promptOf(chat, conversation(callMessage(nullptr, R"({"place": "mill", "n": 1.0})"))), wanted) << file;
    EXPECT_EQ(promptOf(chat, conversation(callMessage("", Json{{"place", "mill"}, {"n", 1.0}}))), wanted) << file;
    EXPECT_EQ(promptOf(chat, conversation(callMessage(Json::array(), R"({"place": "mill", "n": 1.0})"))), wanted) << file;
    Json absent = callMessage("", R"({"place": "mill", "n": 1.0})");
    absent.erase("content");
    absent["name"] = nullptr;
    EXPECT_EQ(promptOf(chat, conversation(absent)), wanted) << file;
    // Negative control: another argument is another prompt.
    EXPECT_NE(promptOf(chat, conversation(callMessage("", R"({"place": "hill", "n": 1.0})"))), wanted) << file;
  }
}

TEST_F(MessageShapes, MakeOnePromptOfTextAndItsParts) {
  std::vector<std::filesystem::path> files = callingTemplates();
  files.push_back(goldenTemplates() / "olmoe.jinja");
  files.push_back(vendorTemplate("llama3"));
  for (const auto& file : files) {
    const ChatTemplate& chat = shelf_.at(file);
    const auto talk = [](const Json& content) {
      return Json::array({Json{{"role", "system"}, {"content", content}}, Json{{"role", "user"}, {"content", content}}, Json{{"role", "assistant"}, {"content", content}},
                          Json{{"role", "user"}, {"content", content}}});
    };
    const std::string wanted = promptOf(chat, talk("one two"));
    EXPECT_FALSE(isError(wanted)) << file << wanted;
    EXPECT_EQ(promptOf(chat, talk(kText)), wanted) << file;
  }
}

TEST_F(MessageShapes, NameReasoningAsTheTemplateDoes) {
  for (const auto& file : callingTemplates()) {
    const ChatTemplate& chat = shelf_.at(file);
    const auto thought = [&](const char* key) {
      Json call = callMessage("", R"({"place": "mill"})");
      call[key] = "I should look";
      return promptOf(chat, conversation(call));
    };
    const std::string wanted = thought("reasoning_content");
    EXPECT_EQ(thought("reasoning"), wanted) << file;
    EXPECT_EQ(thought("thinking"), wanted) << file;
  }
  EXPECT_NE(promptOf(shelf_.at(goldenTemplates() / "glm-5.2.jinja"), conversation([] {
              Json call = callMessage("", "{}");
              call["thinking"] = "I should look";
              return call;
            }())).find("I should look"),
            std::string::npos);
}

TEST_F(MessageShapes, CallDevelopersSystemWhereTheTemplateDoesNotKnowThem) {
  const auto talk = [](const char* role) { return Json::array({Json{{"role", role}, {"content", "Be brief."}}, Json{{"role", "user"}, {"content", "Hi"}}}); };
  for (const auto& file : callingTemplates()) {
    const ChatTemplate& chat = shelf_.at(file);
    const std::string prompt = promptOf(chat, talk("developer"));
    EXPECT_NE(prompt.find("Be brief."), std::string::npos) << file << prompt;
    if (!chat.shape().developer_role) { EXPECT_EQ(prompt, promptOf(chat, talk("system"))) << file; }
  }
}

TEST(PrepareMessages, RefusesWhatNoTemplateCouldPrint_AndSaysWhere) {
  MessageShape objects;
  objects.calls_as_object = true;
  const auto fault = [&](const Json& messages) {
    const auto prepared = prepareMessages(objects, messages);
    return prepared.ok() ? std::string("accepted") : prepared.error().what;
  };
  const Json user{{"role", "user"}, {"content", "Hi"}};
  EXPECT_EQ(fault("text"), "messages must be a list of objects with role and content");
  EXPECT_EQ(fault(Json::array({user, "x"})), "messages[1] is not an object");
  EXPECT_EQ(fault(Json::array({Json{{"content", "x"}}})), "messages[0] has no role");
  EXPECT_EQ(fault(Json::array({Json{{"role", "user"}}})), "messages[0] of role 'user' has no content");
  EXPECT_EQ(fault(Json::array({Json{{"role", "user"}, {"content", 5}}})), "messages[0] has content that is neither text nor a list of parts");
  EXPECT_EQ(fault(Json::array({Json{{"role", "user"}, {"content", Json::array({Json{{"type", "image_url"}}})}}})),
            "messages[0] has a content part of type 'image_url'; this engine reads text only");
  EXPECT_EQ(fault(Json::array({callMessage("", "[1]")})), "messages[0] tool_calls[0] has arguments that are not a JSON object");
  EXPECT_EQ(fault(Json::array({callMessage("", 5)})), "messages[0] tool_calls[0] has arguments that are not a JSON object");
  EXPECT_NE(fault(Json::array({callMessage("", "{\"a\"")})).find("messages[0].tool_calls[0].function.arguments is not JSON"), std::string::npos);
  EXPECT_EQ(fault(Json::array({callMessage("", "  ")})), "accepted");
}

TEST(PrepareMessages, KeepsTheModelsOwnSpellingWhereTextIsTaken) {
  const auto prepared = prepareMessages(MessageShape{}, Json::array({callMessage("", "{ \"a\":1 }"), callMessage("", Json{{"a", 1.0}})}));
  ASSERT_TRUE(prepared.ok());
  EXPECT_EQ(prepared.value()[0]["tool_calls"][0]["function"]["arguments"], "{ \"a\":1 }");
  EXPECT_EQ(prepared.value()[1]["tool_calls"][0]["function"]["arguments"], "{\"a\": 1.0}");
}

}  // namespace
}  // namespace sluice
