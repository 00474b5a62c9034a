// Goal:   a grammar accepts its sentences and nothing else, ends, and masks tokens by their bytes.
// Method: hand-written grammars and schemas with texts inside and outside; masks against trying each token alone; random walks that must parse.

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "core/base/rng.h"
#include "core/run/grammar/gbnf.h"
#include "core/run/grammar/json_schema.h"
#include "core/run/grammar/token_mask.h"

namespace sluice {
namespace {

using Json = nlohmann::ordered_json;

bool matches(const std::shared_ptr<const Grammar>& grammar, std::string_view text) {
  GrammarState state(grammar);
  return state.accept(text) && state.mayEnd();
}

std::shared_ptr<const Grammar> gbnf(std::string_view text) {
  auto grammar = parseGbnf(text);
  EXPECT_TRUE(grammar.ok()) << grammar.error().what;
  return grammar.value();
}

std::shared_ptr<const Grammar> schema(const char* text) {
  auto grammar = compileJsonSchema(Json::parse(text));
  EXPECT_TRUE(grammar.ok()) << (grammar.ok() ? "" : grammar.error().what);
  return grammar.value();
}

TEST(Gbnf, TakesItsSentencesAndNoOthers) {
  const auto g = gbnf("# sums\nroot ::= sum \"\\n\"\nsum ::= term (op term)*\nop ::= [+-]\n  | \"*\"\nterm ::= [0-9]{1,3} | \"(\" sum \")\"\n");
  EXPECT_TRUE(matches(g, "1+22*(3-456)\n"));
  EXPECT_FALSE(matches(g, "1+\n"));
  EXPECT_FALSE(matches(g, "1234\n"));
  EXPECT_FALSE(matches(g, "(1\n"));
  EXPECT_FALSE(matches(g, "1"));
}

TEST(Gbnf, ReadsCodePointsAsUtf8) {
  const auto g = gbnf("root ::= [à-ü一-龥😀-😎]+ [^a-z] . \"\\u00e9\\x41\"");
  EXPECT_TRUE(matches(g, "é中😎Zyé" "A"));
  EXPECT_FALSE(matches(g, "é中😎zyé" "A"));
  EXPECT_FALSE(matches(g, "😏Zyé" "A"));
  EXPECT_FALSE(matches(g, "\xc3Zy"));
}

TEST(Gbnf, EndsOnNullableRepetitions) {
  const auto g = gbnf("root ::= (\"a\"? \"b\"?)* \"c\" ((\"\"))* (\"d\"*){2,5}");
  EXPECT_TRUE(matches(g, "abbaabc"));
  EXPECT_TRUE(matches(g, "cdddd"));
  EXPECT_FALSE(matches(g, "abca"));
}

TEST(Gbnf, NamesTheFault) {
  const auto fault = [](std::string_view text) {
    const auto g = parseGbnf(text);
    return g.ok() ? std::string("accepted") : g.error().what;
  };
  EXPECT_NE(fault("root ::= thing").find("'thing'"), std::string::npos);
  EXPECT_NE(fault("x ::= \"a\"").find("'root'"), std::string::npos);
  EXPECT_NE(fault("root ::= \"a\"\nroot ::= \"b\"").find("twice"), std::string::npos);
  EXPECT_NE(fault("root ::= e\ne ::= e \"+\" \"1\" | \"1\"").find("left recursion"), std::string::npos);
  EXPECT_NE(fault("root ::= a \"x\"\na ::= \"y\"? root").find("left recursion"), std::string::npos);
  EXPECT_NE(fault("root ::= \"a\n").find("line 1"), std::string::npos);
  EXPECT_NE(fault("root ::= [z-a]").find("below"), std::string::npos);
  EXPECT_NE(fault("root ::= \"a\"{5000}").find("4096"), std::string::npos);
  EXPECT_NE(fault("root ::= (\"a\"").find("')'"), std::string::npos);
  EXPECT_NE(fault(std::string("root ::= ") + std::string(5000, '(')).find("nest"), std::string::npos);
}

TEST(JsonSchema, HoldsObjectsToTheirProperties) {
  const auto g = schema(R"({"type":"object","properties":{"name":{"type":"string"},"age":{"type":"integer","minimum":0,"maximum":120},"tags":{"type":"array","items":{"enum":["a","b",3,null]},"minItems":1,"maxItems":2}},"required":["name","tags"],"additionalProperties":false})");
  EXPECT_TRUE(matches(g, R"({"name": "Åsa \"x\" \u00e9 \ud83d\ude00", "age": 120, "tags": ["a", 3]})"));
  EXPECT_TRUE(matches(g, R"({"name":"x","tags":[null]})"));
  EXPECT_TRUE(matches(g, "\n{ \"name\" : \"\",\n \"tags\" : [ \"b\" ] }"));
  for (const char* bad : {R"({"name":"x"})", R"({"tags":["a"],"name":"x"})", R"({"name":"x","age":121,"tags":["a"]})", R"({"name":"x","age":-1,"tags":["a"]})", R"({"name":"x","tags":[]})",
                          R"({"name":"x","tags":["a","b","a"]})", R"({"name":"x","tags":["c"]})", R"({"name":"x","tags":["a"],"more":1})", "{\"name\":\"a\nb\",\"tags\":[3]}",
                          R"({"name":"\ud800","tags":[3]})", R"({"name":"x","age":012,"tags":[3]})", "{\"name\":\"\xff\",\"tags\":[3]}"})
    EXPECT_FALSE(matches(g, bad)) << bad;
  GrammarState state(g);
  ASSERT_TRUE(state.accept(R"({"name":"x","tags":[3]})"));
  EXPECT_TRUE(state.mustEnd());
}

TEST(JsonSchema, KeepsNumbersInsideTheirBounds) {
  struct Case {
    const char* schema;
    std::vector<const char*> in, out;
  };
  const std::vector<Case> cases = {
      {R"({"type":"integer","minimum":-17,"exclusiveMaximum":250})", {"-17", "-1", "0", "9", "99", "249"}, {"-18", "250", "-170", "1e1", "1.0", "00", "-", ""}},
      {R"({"type":"integer","multipleOf":7,"minimum":10,"maximum":30})", {"14", "21", "28"}, {"7", "15", "35", "140"}},
      {R"({"type":"number","minimum":0.5,"maximum":2})", {"0.5", "0.75", "1", "2", "1.9999", "2.0"}, {"0.4", "0", "2.1", "3", "-1", "20"}},
      {R"({"type":"number","exclusiveMinimum":1,"exclusiveMaximum":2})", {"1.5", "1.0001"}, {"1", "2", "1.0", "1.00000"}},
      {R"({"type":"number","multipleOf":0.25})", {"0.25", "-3.5", "7", "7.00"}, {"0.3", "0.26"}},
      {R"({"type":"integer","minimum":1.5,"maximum":3.5})", {"2", "3"}, {"1", "4", "2.0"}},
      {R"({"type":"number"})", {"-0.5e+10", "123456", "1E5", "0"}, {"+1", ".5", "1.", "1e", "01", "1e400"}},
  };
  for (const Case& c : cases) {
    const auto g = schema(c.schema);
    for (const char* text : c.in) EXPECT_TRUE(matches(g, text)) << c.schema << " refuses " << text;
    for (const char* text : c.out) EXPECT_FALSE(matches(g, text)) << c.schema << " takes " << text;
  }
}

TEST(JsonSchema, ReadsPatternsFormatsAndRecursion) {
  const auto code = schema(R"({"type":"string","pattern":"^[A-Z]{2}-\\d+(\"x\")?$"})");
  EXPECT_TRUE(matches(code, R"("AB-123")"));
  EXPECT_TRUE(matches(code, R"("AB-1\"x\"")"));
  EXPECT_FALSE(matches(code, R"("AB-")"));
  EXPECT_FALSE(matches(code, R"("xAB-1")"));
  const auto somewhere = schema(R"({"type":"string","pattern":"ab|cd$"})");
  EXPECT_TRUE(matches(somewhere, R"("xxabxx")"));
  EXPECT_TRUE(matches(somewhere, R"("xxcd")"));
  EXPECT_FALSE(matches(somewhere, R"("xxcdx")"));
  const auto date = schema(R"({"type":"string","format":"date-time"})");
  EXPECT_TRUE(matches(date, R"("2024-02-28T23:59:00Z")"));
  EXPECT_FALSE(matches(date, R"("2024-02-30T23:59:00Z")"));
  EXPECT_FALSE(matches(date, R"("2024-13-01T00:00:00Z")"));
  const auto tree = schema(R"({"$ref":"#/$defs/node","$defs":{"node":{"type":"object","properties":{"v":{"type":"boolean"},"next":{"anyOf":[{"$ref":"#/$defs/node"},{"type":"null"}]}},"required":["v","next"],"additionalProperties":false}}})");
  EXPECT_TRUE(matches(tree, R"({"v":true,"next":{"v":false,"next":null}})"));
  EXPECT_FALSE(matches(tree, R"({"v":true,"next":{"v":false}})"));
}

TEST(JsonSchema, RefusesByNameWhatItCannotPromise) {
  const auto fault = [](const char* text) {
    const auto g = compileJsonSchema(Json::parse(text));
    return g.ok() ? std::string("accepted") : g.error().what;
  };
  EXPECT_NE(fault(R"({"type":"object","properties":{"a":{"oneOf":[]}}})").find("#/properties/a': 'oneOf'"), std::string::npos);
  EXPECT_NE(fault(R"({"type":"string","format":"colour"})").find("'colour'"), std::string::npos);
  EXPECT_NE(fault(R"({"type":"string","pattern":"(?=a)b"})").find("look-around"), std::string::npos);
  EXPECT_NE(fault(R"({"type":"string","pattern":"(a)\\1"})").find("back references"), std::string::npos);
  EXPECT_NE(fault(R"({"type":"integer","minimum":3,"maximum":2})").find("no number"), std::string::npos);
  EXPECT_NE(fault(R"({"$ref":"#/$defs/none"})").find("points at nothing"), std::string::npos);
  EXPECT_NE(fault(R"({"$ref":"#"})").find("left recursion"), std::string::npos);
  EXPECT_NE(fault(R"({"type":"object","properties":{"a":{}},"required":["b"]})").find("'b'"), std::string::npos);
  EXPECT_NE(fault(R"({"minimum":3})").find("'type'"), std::string::npos);
}

// White space and digits are bounded: from any state reached by a greedy lover of blanks the text still ends.
TEST(JsonSchema, EndsEvenForALoverOfBlanks) {
  const auto g = schema(R"({"type":"object","properties":{"a":{"type":"array","items":{"type":"number"},"maxItems":2},"b":{"type":"boolean"}},"required":["a","b"]})");
  GrammarState state(g);
  int bytes = 0;
  while (!state.mustEnd()) {
    const ByteSet next = state.next();
    std::uint8_t byte = ' ';
    if (!next.test(byte)) {
      int best = 255;
      while (!next.test(std::size_t(best))) --best;
      byte = std::uint8_t(best);
    }
    ASSERT_TRUE(state.accept(byte));
    ASSERT_LT(++bytes, 400);
  }
}

TEST(TokenMask, AllowsExactlyTheTokensThatParse) {
  const std::vector<std::string_view> vocabulary = {"", "{", "}", "\"", "a", "b", "ab", "\":", ":", "{\"", "{\"a\":", "1", "12", "121", " ", "  ", "\n", ",", "\",\"", "}}", "true", "tr", "ue", "\xc3", "\xa9", "é"};
  const TokenOrder order(vocabulary);
  TokenMask mask(order);
  const auto g = schema(R"({"type":"object","properties":{"a":{"type":"integer","maximum":120,"minimum":0},"b":{"type":"string"}},"required":["a","b"]})");
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    Rng rng(seed);
    GrammarState state(g);
    std::string text;
    for (int step = 0; step < 60 && !state.mustEnd(); ++step) {
      const auto allowed = mask.allowed(state);
      std::vector<std::uint32_t> ways;
      for (std::size_t id = 0; id < vocabulary.size(); ++id) {
        GrammarState alone = state;
        const bool parses = !vocabulary[id].empty() && alone.accept(vocabulary[id]);
        ASSERT_EQ(allowed[id] != 0, parses) << "seed " << seed << ", after " << text << ", token " << vocabulary[id];
        if (parses) ways.push_back(std::uint32_t(id));
      }
      ASSERT_FALSE(ways.empty()) << text;
      const std::string_view token = vocabulary[ways[rng.below(ways.size())]];
      text += token;
      ASSERT_TRUE(state.accept(token));
    }
    if (state.mayEnd()) { EXPECT_TRUE(Json::accept(text)) << text; }
  }
}

TEST(GrammarState, IsAValue_CopiesGoTheirOwnWays) {
  const auto g = gbnf("root ::= \"a\" (\"b\" | \"c\") \"d\"");
  GrammarState one(g);
  ASSERT_TRUE(one.accept("a"));
  GrammarState two = one;
  EXPECT_EQ(one.fingerprint(), two.fingerprint());
  ASSERT_TRUE(one.accept("b"));
  ASSERT_TRUE(two.accept("cd"));
  EXPECT_FALSE(one.mayEnd());
  EXPECT_TRUE(two.mayEnd());
  EXPECT_NE(one.fingerprint(), two.fingerprint());
}

}  // namespace
}  // namespace sluice
