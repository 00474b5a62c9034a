// Goal:   numbers of a request keep the spelling that Python gives them, in JSON and in prompts.
// Method: spellings whose Python form is known (json.loads, then repr or json.dumps, of CPython 3.11); faults at known places.

#include <cmath>

#include "tests/jinja/template_rows.h"

namespace sluice {
namespace {

TEST(ChatJson, NumbersKeepPythonsSpelling) {
  const std::pair<const char*, const char*> kCases[] = {
      {"1", "1"}, {"-0", "0"}, {"1.0", "1.0"}, {"-0.0", "-0.0"}, {"1e3", "1000.0"}, {"1E-7", "1e-07"}, {"1e16", "1e+16"}, {"123456789.125", "123456789.125"},
      {"3.141592653589793", "3.141592653589793"}, {"0.1", "0.1"}, {"9223372036854775807", "9223372036854775807"},
      {"9223372036854775808", "9223372036854775808"}, {"18446744073709551615", "18446744073709551615"}, {"18446744073709551616", "18446744073709551616"},
      {"-9223372036854775808", "-9223372036854775808"}, {"-9223372036854775809", "-9223372036854775809"},
      {"123456789012345678901234567890", "123456789012345678901234567890"}, {"5e-324", "5e-324"}, {"1e-400", "0.0"}, {"1.7976931348623157e308", "1.7976931348623157e+308"}};
  for (const auto& [spelled, python] : kCases) {
    EXPECT_EQ(spellChatJson(jsonOf(spelled)), python) << spelled;
    const Json arguments{{"n", jsonOf(spelled)}};
    EXPECT_EQ(rendered("{{ n }} {{ n | tojson }} {{ [n] }}", arguments), std::string(python) + " " + python + " [" + python + "]") << spelled;
  }
  EXPECT_EQ(rendered("{{ n }} {{ n | tojson }}", Json{{"n", jsonOf("1e400")}}), "inf Infinity");
  EXPECT_EQ(rendered("{{ n + 1 }}", Json{{"n", jsonOf("18446744073709551616")}}), "18446744073709551617");
  // Negative control: the library's own reader rounds.
  EXPECT_NE(rendered("{{ n }}", Json{{"n", Json::parse("18446744073709551616")}}), "18446744073709551616");
}

TEST(ChatJson, LastOfEqualNamesWinsInTheFirstPlace) {
  EXPECT_EQ(spellChatJson(jsonOf(R"({"a": 1, "b": 2, "a": 3})")), R"({"a": 3, "b": 2})");
}

TEST(ChatJson, ReadsWhatPythonReads) {
  EXPECT_EQ(spellChatJson(jsonOf(" { \"a\" : [ true , false , null , \"\\u00e9\\ud83d\\ude00\\n\\/\" ] } \n")), "{\"a\": [true, false, null, \"é😀\\n/\"]}");
  EXPECT_EQ(spellChatJson(jsonOf("[]")), "[]");
  EXPECT_EQ(spellChatJson(jsonOf("{}")), "{}");
  EXPECT_EQ(spellChatJson(jsonOf("\"\\u0000\x7f\"")), "\"\\u0000\x7f\"");
}

TEST(ChatJson, FaultsNameTheirPlace) {
  const std::pair<std::string, const char*> kCases[] = {
      {"", "line 1, column 1"}, {"{\"a\": 1,}", "line 1, column 9: expected a name"}, {"[1\n2]", "line 2, column 1: expected ',' or ']'"}, {"[01]", "leading zero"},
      {"[1.]", "digit after the point"}, {"[1e]", "exponent"}, {"\"a", "never closed"}, {"\"\\x\"", "unknown escape"}, {"\"\\ud800\"", "surrogate"},
      {"\"\\udc00x\"", "surrogate"}, {"\"\xff\"", "UTF-8"}, {"\"\xed\xa0\x80\"", "UTF-8"}, {"\"a\nb\"", "control character"}, {"1 2", "after the value"}, {"nul", "expected a value"},
      {"NaN", "expected a value"}, {std::string(200, '[') + std::string(200, ']'), "nested more than 128"}, {std::string(5000, '9'), "more than 4300 digits"}};
  for (const auto& [text, words] : kCases) {
    const auto value = parseChatJson(text, "the body");
    ASSERT_FALSE(value.ok()) << text;
    EXPECT_EQ(value.error().code, Errc::BadRequest);
    EXPECT_NE(value.error().what.find(words), std::string::npos) << value.error().what;
    EXPECT_EQ(value.error().what.rfind("the body is not JSON", 0), 0u);
  }
}

TEST(ChatJson, TakesManyNamesInLinearTime) {
  std::string text = "{";
  for (int i = 0; i < 200000; ++i) text += (i == 0 ? "\"k" : ",\"k") + std::to_string(i) + "\":1";
  EXPECT_EQ(jsonOf(text + "}").size(), 200000u);
}

}  // namespace
}  // namespace sluice
