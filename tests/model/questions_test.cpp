// Goal:   the bundled model answers as the reference implementation does.
// Method: questions.json of the bundled container holds prompts and greedy answers that the reference made from the same weights. Each is fed with its answer
//         (teacher-forced), on the exact path and on the default one. Margins come from the exact path, which golden_test holds to the reference.

#include <cstdio>

#include <gtest/gtest.h>

#include "core/format/json_text.h"
#include "tests/model/model_rig.h"

namespace sluice {
namespace {

struct Question {
  std::vector<TokenId> prompt, answer;
};

std::vector<TokenId> idsOf(simdjson::dom::element row, const char* key) {
  simdjson::dom::array ids;
  CHECK(row[key].get(ids) == simdjson::SUCCESS);
  std::vector<TokenId> out;
  for (const simdjson::dom::element element : ids) {
    std::uint64_t id = 0;
    CHECK(element.get(id) == simdjson::SUCCESS);
    out.emplace_back(std::uint32_t(id));
  }
  return out;
}

std::vector<Question> questionsOf(const std::string& model) {
  const Result<JsonText> json = JsonText::readFile(modelPath(model) / "questions.json", 16_MiB, 32);
  CHECK(json.ok());
  simdjson::dom::array rows;
  CHECK(json.value().root().get(rows) == simdjson::SUCCESS);
  std::vector<Question> out;
  for (const simdjson::dom::element row : rows) out.push_back({idsOf(row, "prompt_ids"), idsOf(row, "ids")});
  return out;
}

/// Logits that choose each token of the answer.
Logits answerLogits(Rig& rig, const Question& q) {
  std::vector<TokenId> all = q.prompt;
  all.insert(all.end(), q.answer.begin(), q.answer.end() - 1);
  const Logits logits = rig.feedFresh(all, 512);
  return {logits.begin() + std::ptrdiff_t(q.prompt.size() - 1), logits.end()};
}

TEST(Questions, EveryAnswerOfTheBundledModelIsChosenAgain_TeacherForced) {
  Rig exact(modelPath("nano-gs64"), exactPath());
  RigOptions product = defaultPath();
  Rig wide(modelPath("nano-gs64"), product);
  product.kv = RowFormat::Bf16;
  Rig narrow(modelPath("nano-gs64"), product);
  int choices = 0, ties = 0, others[3] = {0, 0, 0};
  const std::vector<Question> questions = questionsOf("nano-gs64");
  EXPECT_EQ(questions.size(), 46u);
  for (std::size_t n = 0; n < questions.size(); ++n) {
    const Question& q = questions[n];
    const Logits reference = answerLogits(exact, q), runs[3] = {reference, answerLogits(wide, q), answerLogits(narrow, q)};
    ASSERT_EQ(reference.size(), q.answer.size());
    for (std::size_t step = 0; step < q.answer.size(); ++step, ++choices) {
      const float margin = marginOf(reference[step]);
      ties += margin < 1e-3f ? 1 : 0;
      for (int path = 0; path < 3; ++path) {
        if (argmaxOf(runs[path][step]) == int(q.answer[step].value())) continue;
        ++others[path];
        std::printf("question %zu step %zu: path %d chooses otherwise, margin %.4g\n", n, step, path, double(margin));
        EXPECT_LT(margin, 1e-3f);
      }
    }
  }
  std::printf("%d choices, %d with a margin below 1e-3; different: exact %d, 16-bit with f32 rows %d, with bf16 rows %d\n", choices, ties, others[0], others[1],
              others[2]);
  EXPECT_LT(ties, choices / 100);  // or the bound above would say nothing
}

// Negative control: the same questions to the container whose exit tokens are weakened: its choices are others, and the comparison sees it.
TEST(Questions, AWeakenedContainerIsNoticed) {
  Rig rig(modelPath("nano-starved"), exactPath());
  int differing = 0;
  for (const Question& q : questionsOf("nano-gs64")) {
    const Logits logits = answerLogits(rig, q);
    for (std::size_t step = 0; step < q.answer.size(); ++step) differing += argmaxOf(logits[step]) != int(q.answer[step].value()) ? 1 : 0;
  }
  EXPECT_GT(differing, 0);
}

}  // namespace
}  // namespace sluice
