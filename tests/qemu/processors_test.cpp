// Goal:   one binary runs on a plain x86-64-v2 processor and on one with AVX2, chooses its kernels by itself, and gives the reference's text.
// Method: the program under qemu-user with named processors, over questions whose answers (greedy, from these very weights) the reference
//         implementation gave, each with margins that no rounding can cross. io_uring does not exist in qemu-user: that path falls back too.

#include <filesystem>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <simdjson.h>

#include "tests/support/command.h"
#include "tests/support/temp_dir.h"

namespace sluice {
namespace {

const std::string kModel = SLUICE_TEST_DATA "/models/nano-gs64";

struct Question {
  std::string text, effort, answer;  // the answer as the reference wrote it: thought and closing mark, then text, then the end token
  std::vector<std::int64_t> ids;
};

Question questionOf(std::string_view text, std::string_view effort) {
  simdjson::dom::parser parser;
  const simdjson::dom::element rows = parser.load(kModel + "/questions.json");
  for (const simdjson::dom::element row : rows.get_array()) {
    if (std::string_view(row["question"]) != text || std::string_view(row["effort"]) != effort) continue;
    EXPECT_GE(double(row["min_margin"]), 3.0);
    Question question{std::string(text), std::string(effort), std::string(std::string_view(row["text"])), {}};
    for (const simdjson::dom::element id : row["ids"].get_array()) question.ids.push_back(std::int64_t(id));
    return question;
  }
  ADD_FAILURE() << "questions.json has no '" << text << "' with effort " << effort;
  return {};
}

CommandOutput runOn(const std::string& processor, const std::vector<std::string>& arguments) {
  const TempDir state;
  std::vector<std::string> argv = {"qemu-x86_64", "-cpu", processor, SLUICE_PROGRAM};
  argv.insert(argv.end(), arguments.begin(), arguments.end());
  Result<CommandOutput> ran = runCommand(argv, {"", "", {{"XDG_STATE_HOME", state.path().string()}}});
  EXPECT_TRUE(ran.ok()) << ran.error().what << "; ./setup --dev installs qemu-user";
  return ran.ok() ? std::move(ran).value() : CommandOutput{};
}

void expectAnswer(const std::string& processor, const Question& question, std::vector<std::string> more) {
  std::vector<std::string> arguments = {"run", kModel, "-p", question.text, "--temperature", "0", "--json", "--threads", "2"};
  arguments.insert(arguments.end(), more.begin(), more.end());
  const CommandOutput ran = runOn(processor, arguments);
  ASSERT_EQ(ran.exit_code, 0) << ran.err;
  simdjson::dom::parser parser;
  const simdjson::dom::element answer = parser.parse(ran.out);
  EXPECT_EQ(std::string_view(answer["end"]["reason"]), "eos");
  std::vector<std::int64_t> ids;
  for (const simdjson::dom::element id : answer["ids"].get_array()) ids.push_back(std::int64_t(id));
  EXPECT_EQ(ids, question.ids) << ran.out;
  const std::string_view text = answer["text"];
  const std::string said(text);
  EXPECT_FALSE(said.empty());
  EXPECT_NE(question.answer.find(said + "<|user|>"), std::string::npos) << said;
}

std::vector<std::string> usableIsas(const std::string& processor) {
  const CommandOutput ran = runOn(processor, {"version", "--json"});
  EXPECT_EQ(ran.exit_code, 0) << ran.err;
  simdjson::dom::parser parser;
  std::vector<std::string> isas;
  const simdjson::dom::element version = parser.parse(ran.out);
  for (const simdjson::dom::element isa : version["isa"].get_array()) isas.emplace_back(std::string_view(isa));
  return isas;
}

TEST(Nehalem, UsesScalarKernelsAlone) { EXPECT_EQ(usableIsas("Nehalem"), (std::vector<std::string>{"scalar"})); }

TEST(Nehalem, AnswersAsTheReferenceDoes) {
  expectAnswer("Nehalem", questionOf("What is the capital of France?", "off"), {"--no-think"});
  expectAnswer("Nehalem", questionOf("Which month comes after March?", "max"), {});
}

TEST(Nehalem, RefusesAnInstructionSetThatItLacks) {
  const CommandOutput ran = runOn("Nehalem", {"run", kModel, "-p", "Hello", "--isa", "avx2"});
  EXPECT_EQ(ran.exit_code, 2);
  EXPECT_NE(ran.err.find("avx2"), std::string::npos) << ran.err;
}

TEST(Haswell, UsesAvx2_AndNothingNewer) { EXPECT_EQ(usableIsas("Haswell"), (std::vector<std::string>{"scalar", "avx2"})); }

TEST(Haswell, AnswersAsTheReferenceDoes) {
  expectAnswer("Haswell", questionOf("What is the capital of France?", "off"), {"--no-think"});
  expectAnswer("Haswell", questionOf("Which month comes after March?", "max"), {});
}

// Control: another question has another answer, so that the comparison above can fail.
TEST(Haswell, AnswersAnotherQuestionOtherwise) {
  EXPECT_NE(questionOf("What is the symbol of iron?", "off").ids, questionOf("What is the capital of France?", "off").ids);
}

}  // namespace
}  // namespace sluice
