// Goal:   every prompt is the reference's, byte for byte.
// Method: the goldens of tests/golden/templates (Jinja2 3.1.6 as transformers sets it up): our templates, single constructs of the language,
//         and vendors' real templates, which `./setup --dev` fetches; each table with a row broken on purpose.

#include <openssl/evp.h>

#include "tests/jinja/template_rows.h"

namespace sluice {
namespace {

std::string sha256(const std::string& text) {
  unsigned char digest[EVP_MAX_MD_SIZE];
  unsigned length = 0;
  EVP_Digest(text.data(), text.size(), digest, &length, EVP_sha256(), nullptr);
  std::string hex;
  for (unsigned i = 0; i < length; ++i) {
    hex += "0123456789abcdef"[digest[i] >> 4];
    hex += "0123456789abcdef"[digest[i] & 15];
  }
  return hex;
}

void expectRows(const std::string& file, std::size_t count) {
  TemplateShelf shelf;
  const std::vector<Json> rows = templateRows(file);
  ASSERT_EQ(rows.size(), count);
  for (const Json& row : rows) {
    const std::string text = rendered(shelf.at(goldenTemplates() / row["template"].get<std::string>()), requestOf(row));
    EXPECT_EQ(faultOf(row, text), "") << row["template"] << ' ' << row.value("name", "");
  }
}

std::string ofSource(const Json& row) {
  auto chat = ChatTemplate::parse(row["source"].get<std::string>(), "t");
  return chat.ok() ? rendered(chat.value(), requestOf(row)) : "ERROR: " + chat.error().what;
}

TEST(TemplateGolden, OurTemplatesRenderEveryConversationAsTheReference) { expectRows("cases.jsonl", 495); }

TEST(TemplateGolden, EveryConstructOfTheLanguageRendersAsTheReference) {
  TemplateShelf shelf;
  const std::vector<Json> rows = templateRows("cases_features.jsonl");
  ASSERT_EQ(rows.size(), 487u);
  for (const Json& row : rows) {
    const bool inline_source = row.contains("source");
    const std::string text = inline_source ? ofSource(row) : rendered(shelf.at(goldenTemplates() / row["template"].get<std::string>()), requestOf(row));
    EXPECT_EQ(faultOf(row, text), "") << (inline_source ? row["source"] : row["template"]);
  }
}

TEST(TemplateGolden, DifferentialRowsRenderAsTheReference) {
  const std::vector<Json> rows = templateRows("differential.jsonl");
  ASSERT_GT(rows.size(), 1000u);
  for (const Json& row : rows) EXPECT_EQ(faultOf(row, ofSource(row)), "") << row["source"];
}

TEST(TemplateGolden, VendorsTemplatesRenderEveryConversationAsTheReference) {
  TemplateShelf shelf;
  const std::vector<Json> rows = templateRows("cases_vendor.jsonl");
  ASSERT_EQ(rows.size(), 388u);
  for (const Json& row : rows) {
    const std::filesystem::path file = vendorTemplate(row["vendor"].get<std::string>());
    ASSERT_TRUE(std::filesystem::exists(file)) << file << " is missing: run ./setup --dev";
    const std::string text = rendered(shelf.at(file), requestOf(row));
    if (row.contains("error")) {
      EXPECT_EQ(faultOf(row, text), "") << row["vendor"] << ' ' << row["name"];
    } else {
      EXPECT_EQ(sha256(text), row["expected_sha256"].get<std::string>()) << row["vendor"] << ' ' << row["name"] << ": " << text;
    }
  }
}

TEST(TemplateGolden, ComparisonsNoticeABrokenTemplate) {
  const Json row = templateRows("cases.jsonl").front();
  std::string source = fileText(goldenTemplates() / row["template"].get<std::string>());
  auto chat = ChatTemplate::parse(source, "t");
  ASSERT_TRUE(chat.ok());
  EXPECT_EQ(faultOf(row, rendered(chat.value(), requestOf(row))), "");
  const std::size_t place = source.find("<|user|>");
  ASSERT_NE(place, std::string::npos);
  source.insert(place + std::string("<|user|>").size(), "\n");
  chat = ChatTemplate::parse(source, "t");
  ASSERT_TRUE(chat.ok());
  EXPECT_NE(faultOf(row, rendered(chat.value(), requestOf(row))), "");
}

}  // namespace
}  // namespace sluice
