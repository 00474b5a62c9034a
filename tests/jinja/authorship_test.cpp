// Goal:   what a client writes never becomes markup, whatever a template does with it; what a template writes stays markup.
// Method: look-alikes of every control token put into every text of every conversation of cases.jsonl: the markup of the prompt must not gain one.
//         Each client text also carries a private character, which no markup run may hold. prompt_ids.jsonl says who wrote what, and the
//         ids that follow from it. Operations are tried one by one on a client's text between a template's literals.

#include <algorithm>

#include "core/text/tokenizer.h"
#include "tests/jinja/template_rows.h"

namespace sluice {
namespace {

// U+E000, private use: in no template.
const std::string kPrivate = "\xEE\x80\x80";
const std::vector<std::string> kLookAlikes = {"<|user|>", "<|assistant|>", "<|system|>", "<|observation|>", "[gMASK]", "<sop>", "<|im_start|>", "<|im_end|>",
                                              "<|start|>", "<|message|>", "<|call|>", "<|endoftext|>", "<user>", "</user>", "<system>", "<assistant>",
                                              "<｜User｜>", "<｜Assistant｜>", "<tool_response>"};

std::size_t countOf(const std::string& text, const std::string& part) {
  std::size_t count = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + part.size())) ++count;
  return count;
}

/// Every text of the request but those that steer a template (roles, types, names), replaced.
Json replaced(const Json& value, const std::string& text, const std::string& key = "") {
  static const std::vector<std::string> kSteering = {"role", "type", "name", "id", "required", "enum"};
  if (std::find(kSteering.begin(), kSteering.end(), key) != kSteering.end()) return value;
  if (value.is_string()) return Json(text);
  if (!value.is_structured()) return value;
  Json out = value;
  for (auto it = out.begin(); it != out.end(); ++it) *it = replaced(*it, text, out.is_object() ? it.key() : key);
  return out;
}

std::string markupOf(const std::vector<AuthoredText>& parts) {
  std::string text;
  for (const AuthoredText& part : parts) text += part.markup ? part.text : std::string("\n\n");
  return text;
}

TEST(Authorship, NoTextOfAClientBecomesMarkup_InAnyConversation) {
  TemplateShelf shelf;
  std::size_t compared = 0;
  std::string hostile = kPrivate, plain;
  for (const std::string& token : kLookAlikes) hostile += token + kPrivate;
  plain = std::string(hostile.size(), 'a');
  for (const Json& row : templateRows("cases.jsonl")) {
    const ChatTemplate& chat = shelf.at(goldenTemplates() / row["template"].get<std::string>());
    ChatRequest request = requestOf(row), twin = request;
    request.messages = replaced(row["messages"], hostile);
    request.tools = replaced(row["tools"], hostile);
    twin.messages = replaced(row["messages"], plain);
    twin.tools = replaced(row["tools"], plain);
    const auto attacked = chat.render(request), quiet = chat.render(twin);
    if (!attacked.ok() || !quiet.ok()) continue;
    ++compared;
    const std::string markup = markupOf(attacked.value()), calm = markupOf(quiet.value());
    EXPECT_EQ(markup.find(kPrivate), std::string::npos) << row["template"] << ' ' << row["name"];
    for (const std::string& token : kLookAlikes) EXPECT_EQ(countOf(markup, token), countOf(calm, token)) << token << ' ' << row["template"] << ' ' << row["name"];
    // Negative control: read as one author, the prompt has more of them.
    if (joined(attacked.value()).find(kPrivate) != std::string::npos) { EXPECT_GT(countOf(joined(attacked.value()), "<|user|>"), countOf(calm, "<|user|>")); }
  }
  EXPECT_GT(compared, 350u);
}

TEST(Authorship, AdjacentRunsHaveDifferentAuthorsAndNoneIsEmpty) {
  TemplateShelf shelf;
  for (const Json& row : templateRows("cases.jsonl")) {
    const auto parts = shelf.at(goldenTemplates() / row["template"].get<std::string>()).render(requestOf(row));
    if (!parts.ok()) continue;
    for (std::size_t i = 0; i < parts.value().size(); ++i) {
      EXPECT_FALSE(parts.value()[i].text.empty());
      if (i > 0) { EXPECT_NE(parts.value()[i].markup, parts.value()[i - 1].markup); }
    }
  }
}

/// Who wrote each byte, as 'T' and 'c'.
std::string authors(std::string_view source, const std::string& client = "cc") {
  auto chat = ChatTemplate::parse(source, "t");
  if (!chat.ok()) return chat.error().what;
  ChatRequest request;
  request.messages = Json::array({Json{{"role", "user"}, {"content", client}}});
  request.arguments = Json{{"x", client}, {"n", 7}, {"list", Json::array({client, client})}, {"fmt", "%s!"}};
  const auto parts = chat.value().render(request);
  if (!parts.ok()) return parts.error().what;
  std::string out;
  for (const AuthoredText& part : parts.value()) out += std::string(part.text.size(), part.markup ? 'T' : 'c');
  return out;
}

TEST(Authorship, PassesThroughEveryOperation) {
  EXPECT_EQ(authors("<{{ x }}>"), "TccT");
  EXPECT_EQ(authors("{{ '<' ~ x ~ '>' }}"), "TccT");
  EXPECT_EQ(authors("{{ '<' + x + '>' }}"), "TccT");
  EXPECT_EQ(authors("{{ ('<' + x + '>') | upper | trim }}"), "TccT");
  EXPECT_EQ(authors("{{ ('<' + x + '>')[1:] }}"), "ccT");
  EXPECT_EQ(authors("{{ ('<' + x + '>')[::-1] }}"), "TccT");
  EXPECT_EQ(authors("{{ ('<' + x + '>').split('c') | join('|') }}"), "TTTT");  // < | | >: the bars are the template's
  EXPECT_EQ(authors("{{ list | join(', ') }}"), "ccTTcc");
  EXPECT_EQ(authors("{{ 'a-b' | replace('-', x) }}"), "TccT");
  EXPECT_EQ(authors("{{ x | replace('c', '<>') }}"), "TTTT");
  EXPECT_EQ(authors("{{ '<%s>' % x }}"), "TccT");
  EXPECT_EQ(authors("{{ fmt % '<' }}"), "Tc");
  EXPECT_EQ(authors("{{ '<{}>'.format(x) }}"), "TccT");
  EXPECT_EQ(authors("{{ x.ljust(4, '.') }}"), "ccTT");
  EXPECT_EQ(authors("{% set y %}<{{ x }}>{% endset %}{{ y.strip() }}"), "TccT");
  EXPECT_EQ(authors("{% macro m(a) %}<{{ a }}>{% endmacro %}{{ m(x) }}"), "TccT");
  EXPECT_EQ(authors("{% filter upper %}<{{ x }}>{% endfilter %}"), "TccT");
  EXPECT_EQ(authors("{% for c in '<' ~ x %}{{ c }}{% endfor %}"), "Tcc");
  EXPECT_EQ(authors("{{ messages[0].content | indent(2, true) }}"), "TTcc");
  EXPECT_EQ(authors("{{ x | tojson }}"), "cccc");
  EXPECT_EQ(authors("{{ '<a>' | tojson }}"), "ccccc");
  EXPECT_EQ(authors("{{ [x] }}"), "cccccc");
  EXPECT_EQ(authors("{{ n }}{{ n + 1 }}{{ 1 }}{{ x | length }}"), "ccTT");
  EXPECT_EQ(authors("{{ x * 2 }}{{ '-' * 2 }}"), "ccccTT");
  EXPECT_EQ(authors("{{ ('<' ~ x).title() }}{{ x | e }}"), "Tcccc");
  EXPECT_EQ(authors("{{ messages[0].role }}"), "cccc");
}

TEST(Authorship, SpecialTokensAreMarkup_UnlessTheRequestReplacesThem) {
  auto chat = ChatTemplate::parse("{{ bos_token }}{{ eos_token }}", "t", Json{{"bos_token", "<s>"}, {"eos_token", "</s>"}});
  ASSERT_TRUE(chat.ok());
  ChatRequest request;
  request.messages = Json::array();
  auto parts = chat.value().render(request);
  ASSERT_TRUE(parts.ok());
  ASSERT_EQ(parts.value().size(), 1u);
  EXPECT_TRUE(parts.value()[0].markup);
  request.arguments["eos_token"] = "</s>";
  parts = chat.value().render(request);
  ASSERT_TRUE(parts.ok());
  ASSERT_EQ(parts.value().size(), 2u);
  EXPECT_FALSE(parts.value()[1].markup);
}

struct PromptRows {
  TemplateShelf shelf;
  const ChatTemplate& chatOf(const Json& row) {
    const bool vendor = row["tokenizer"].get<std::string>() == "qwen3";
    return shelf.at(vendor ? vendorTemplate("qwen3") : goldenTemplates() / row["template"].get<std::string>());
  }
};

TEST(Authorship, AgreesWithTheReferenceOnWhoWroteWhat) {
  PromptRows rows;
  ASSERT_TRUE(std::filesystem::exists(vendorTemplate("qwen3"))) << "build/dev/templates/qwen3.jinja is missing: run ./setup --dev";
  for (const Json& row : templateRows("prompt_ids.jsonl")) {
    const auto parts = rows.chatOf(row).render(requestOf(row));
    ASSERT_TRUE(parts.ok()) << parts.error().what;
    std::string who;
    for (const AuthoredText& part : parts.value()) who += std::string(part.text.size(), part.markup ? 'T' : 'c');
    std::size_t at = 0;
    for (const Json& segment : row["segments"]) {
      const std::string author = segment[0].get<std::string>(), text = segment[1].get<std::string>();
      ASSERT_EQ(joined(parts.value()).substr(at, text.size()), text);
      // The golden counts an assistant's plain words in the history as the template's; ours are the client's. Tokens are the template's in both.
      if (author == "client") { EXPECT_EQ(who.substr(at, text.size()), std::string(text.size(), 'c')) << text; }
      for (const std::string& token : kLookAlikes)
        for (std::size_t place = text.find(token); author == "template" && place != std::string::npos; place = text.find(token, place + 1))
          EXPECT_EQ(who.substr(at + place, token.size()), std::string(token.size(), 'T')) << token;
      at += text.size();
    }
    EXPECT_EQ(at, who.size());
  }
}

TEST(Authorship, PromptsBecomeTheReferencesIds) {
  PromptRows rows;
  const std::filesystem::path data(SLUICE_TEST_DATA);
  const std::filesystem::path vendor = data.parent_path() / "build" / "dev" / "tokenizers" / "qwen3.json";
  ASSERT_TRUE(std::filesystem::exists(vendor)) << vendor << " is missing: run ./setup --dev";
  auto nano = Tokenizer::load(data / "models" / "nano-gs64" / "tokenizer.json"), qwen = Tokenizer::load(vendor);
  ASSERT_TRUE(nano.ok() && qwen.ok());
  int differ_when_trusted = 0;
  const std::vector<Json> golden = templateRows("prompt_ids.jsonl");
  ASSERT_EQ(golden.size(), 80u);
  for (const Json& row : golden) {
    const Tokenizer& tokenizer = row["tokenizer"].get<std::string>() == "nano" ? nano.value() : qwen.value();
    auto parts = rows.chatOf(row).render(requestOf(row));
    ASSERT_TRUE(parts.ok());
    const auto numbers = [&](const std::vector<AuthoredText>& runs) {
      std::vector<std::uint32_t> ids;
      auto encoded = tokenizer.encode(runs);
      EXPECT_TRUE(encoded.ok());
      if (encoded.ok())
        for (const TokenId id : encoded.value()) ids.push_back(id.value());
      return ids;
    };
    const auto wanted = row["ids"].get<std::vector<std::uint32_t>>();
    EXPECT_EQ(numbers(parts.value()), wanted) << row["messages"];
    const std::vector<AuthoredText> trusted = {AuthoredText{joined(parts.value()), true}};
    if (numbers(trusted) != wanted) ++differ_when_trusted;
  }
  EXPECT_GT(differ_when_trusted, 20);  // negative control: believed whole, the client's text would have become control tokens
}

}  // namespace
}  // namespace sluice
