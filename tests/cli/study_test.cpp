// Goal:   trace and score say what the reference says, in the reference's names, shapes and types.
// Method: expected.safetensors of small models (tests/models/README.md); score against log-softmax, in double, of the reference's logits.

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "tests/cli/cli_rig.h"
#include "tests/support/golden.h"

namespace sluice {
namespace {

std::string idsFile(const CliRig& rig, const Golden& golden) {
  Json ids = Json::array();
  for (const std::int64_t id : golden.integers("ids")) ids.push_back(id);
  return rig.file("ids.json", ids.dump()).string();
}

/// Largest difference relative to the row's largest magnitude.
double worstOf(const std::vector<float>& got, const std::vector<float>& want, std::size_t cols) {
  EXPECT_EQ(got.size(), want.size());
  double worst = 0;
  for (std::size_t row = 0; row + cols <= std::min(got.size(), want.size()); row += cols) {
    double top = 0, gap = 0;
    for (std::size_t c = 0; c < cols; ++c) {
      top = std::max(top, std::fabs(double(want[row + c])));
      gap = std::max(gap, std::fabs(double(got[row + c]) - double(want[row + c])));
    }
    worst = std::max(worst, gap / top);
  }
  return worst;
}

class TraceOf : public testing::TestWithParam<const char*> {};

TEST_P(TraceOf, EqualsTheReference_ExactPath) {
  const CliRig rig;
  const Golden want(modelPath(GetParam()) + "/expected.safetensors");
  const std::string out = rig.place("trace.safetensors").string();
  const CommandOutput ran = rig.run({"trace", modelPath(GetParam()), "--ids-file", idsFile(rig, want), "--out", out, "--greedy", "24", "--exact"});
  ASSERT_EQ(ran.exit_code, 0) << ran.err;
  EXPECT_EQ(ran.out, "");
  const Golden got(out);
  const std::size_t vocabulary = std::size_t(want.shape("logits")[1]);
  for (const char* name : {"ids", "greedy"}) EXPECT_EQ(got.integers(name), want.integers(name)) << name;
  for (const char* name : {"logits", "greedy_logits"}) {
    EXPECT_EQ(got.shape(name), want.shape(name));
    EXPECT_LT(worstOf(got.floats(name), want.floats(name), vocabulary), 1e-4) << name;
  }
  int hidden = 0, routers = 0, indexes = 0;
  for (int layer = 0; layer < 16; ++layer) {
    const std::string h = fmt::format("hidden.{}", layer), r = fmt::format("router.{}.ids", layer), w = fmt::format("router.{}.weights", layer), i = fmt::format("index.{}.ids", layer);
    EXPECT_EQ(got.has(h), want.has(h)) << h;
    EXPECT_EQ(got.has(r), want.has(r)) << r;
    EXPECT_EQ(got.has(i), want.has(i)) << i;
    if (want.has(h)) {
      ++hidden;
      EXPECT_EQ(got.shape(h), want.shape(h));
      EXPECT_LT(worstOf(got.floats(h), want.floats(h), std::size_t(want.shape(h)[1])), 1e-4) << h;
    }
    if (want.has(i)) {
      ++indexes;
      EXPECT_EQ(got.shape(i), want.shape(i));
      EXPECT_EQ(got.integers(i), want.integers(i)) << i;
    }
    if (!want.has(r)) continue;
    ++routers;
    ASSERT_EQ(got.shape(r), want.shape(r));
    // Experts in no order that matters: pairs of id and weight, sorted.
    const std::size_t k = std::size_t(want.shape(r)[1]);
    const auto pairs = [&](const Golden& g, std::size_t row) {
      std::vector<std::pair<std::int64_t, float>> all;
      const std::vector<std::int64_t> ids = g.integers(r);
      const std::vector<float> weights = g.floats(w);
      for (std::size_t c = 0; c < k; ++c) all.emplace_back(ids[row * k + c], weights[row * k + c]);
      std::sort(all.begin(), all.end());
      return all;
    };
    for (std::size_t row = 0; row < want.shape(r)[0]; row += 7) {
      const auto a = pairs(got, row), b = pairs(want, row);
      for (std::size_t c = 0; c < k; ++c) {
        EXPECT_EQ(a[c].first, b[c].first) << r << " row " << row;
        EXPECT_NEAR(a[c].second, b[c].second, 1e-4);
      }
    }
  }
  EXPECT_GT(hidden, 0);
  EXPECT_GT(routers, 0);
  EXPECT_GT(indexes, 0);
}

INSTANTIATE_TEST_SUITE_P(Models, TraceOf, testing::Values("glm", "glm-wide", "coli-i4g64"), [](const testing::TestParamInfo<const char*>& model) {
  std::string name = model.param;
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
});

TEST(Trace, NoticesAnotherPrompt) {
  const CliRig rig;
  const Golden want(modelPath("glm") + "/expected.safetensors");
  const std::string out = rig.place("trace.safetensors").string();
  ASSERT_EQ(rig.run({"trace", modelPath("glm"), "--ids-file", rig.file("other.json", "[9, 8, 7]").string(), "--out", out, "--exact"}).exit_code, 0);
  const Golden got(out);
  EXPECT_FALSE(got.has("greedy"));
  const std::vector<float> a = got.floats("logits"), b = want.floats("logits");
  EXPECT_GT(worstOf(a, std::vector<float>(b.begin(), b.begin() + std::ptrdiff_t(a.size())), std::size_t(want.shape("logits")[1])), 1e-3);
}

TEST(Trace, InPiecesAndAtOnce_TheSameBits) {
  const CliRig rig;
  const Golden want(modelPath("glm") + "/expected.safetensors");
  const std::string ids = idsFile(rig, want), whole = rig.place("whole.safetensors").string();
  ASSERT_EQ(rig.run({"trace", modelPath("glm"), "--ids-file", ids, "--out", whole, "--greedy", "4"}).exit_code, 0);
  for (const char* rows : {"1", "7", "64"}) {
    const std::string out = rig.place(std::string("rows") + rows).string();
    ASSERT_EQ(rig.run({"trace", modelPath("glm"), "--ids-file", ids, "--out", out, "--greedy", "4", "--prefill-rows", rows}).exit_code, 0);
    EXPECT_EQ(readWholeFile(out, 1_GiB).value(), readWholeFile(whole, 1_GiB).value()) << rows;
  }
}

TEST(Score, IsTheLogSoftmaxOfTheReferencesLogits) {
  const CliRig rig;
  const Golden want(modelPath("glm") + "/expected.safetensors");
  const std::vector<std::int64_t> ids = want.integers("ids");
  const std::vector<float> logits = want.floats("logits");
  const std::size_t vocabulary = std::size_t(want.shape("logits")[1]);
  const Json got = rig.json({"score", modelPath("glm"), "--ids-file", idsFile(rig, want), "--exact"});
  ASSERT_EQ(got["logprobs"].size(), ids.size());
  ASSERT_EQ(got["greedy"].size(), ids.size());
  EXPECT_TRUE(got["logprobs"][0].is_null()) << "nothing comes before the first id";
  for (std::size_t i = 1; i < ids.size(); ++i) {
    const float* row = logits.data() + (i - 1) * vocabulary;
    double sum = 0;
    for (std::size_t c = 0; c < vocabulary; ++c) sum += std::exp(double(row[c]));
    EXPECT_NEAR(got["logprobs"][i].get<double>(), double(row[ids[i]]) - std::log(sum), 1e-3) << i;
    EXPECT_EQ(got["greedy"][i].get<bool>(), std::max_element(row, row + vocabulary) - row == ids[i]) << i;
  }
}

TEST(Score, TheModelsOwnAnswerIsGreedyThroughout) {
  const CliRig rig;
  const Json row = Json::parse(std::ifstream(nano() + "/questions.json"))[0];
  Json ids = row["prompt_ids"];
  const std::size_t prompt = ids.size();
  for (const Json& id : row["ids"]) ids.push_back(id);
  const Json got = rig.json({"score", nano(), "--ids-file", rig.file("all.json", ids.dump()).string()});
  for (std::size_t i = prompt; i < ids.size(); ++i) {
    EXPECT_TRUE(got["greedy"][i].get<bool>()) << i;
    EXPECT_GT(got["logprobs"][i].get<double>(), -0.2) << i;
  }
  const Json text = rig.json({"score", nano(), "--text", rig.file("t.txt", row["prompt"].get<std::string>()).string()});
  EXPECT_EQ(text["ids"], row["prompt_ids"]);
}

TEST(Score, ChoicesAreSumsOverTheirOwnIds) {
  const CliRig rig;
  const std::string context = "[gMASK]<sop><|user|>Capital of Japan?<|assistant|><think></think>The capital of Japan is";
  const Json line = {{"context", context}, {"choices", {" Tokyo.", " Paris.", " cold."}}};
  const Json got = rig.json({"score", nano(), "--choices", rig.file("c.jsonl", line.dump() + "\n\n" + line.dump()).string()});
  ASSERT_EQ(got["best"].size(), 2u);
  EXPECT_EQ(got["best"][0], 0);
  EXPECT_TRUE(got["greedy"][0][0].get<bool>());
  EXPECT_FALSE(got["greedy"][0][1].get<bool>());
  EXPECT_GT(got["logprobs"][0][0].get<double>(), got["logprobs"][0][1].get<double>());
  EXPECT_EQ(got["logprobs"][0], got["logprobs"][1]);
  // The same sum, from the whole text's scores.
  const Json whole = rig.json({"score", nano(), "--text", rig.file("w.txt", context + " Tokyo.").string()});
  double sum = 0;
  const std::size_t count = whole["logprobs"].size();
  for (std::size_t i = count - got["tokens"][0][0].get<std::size_t>(); i < count; ++i) sum += whole["logprobs"][i].get<double>();
  EXPECT_NEAR(got["logprobs"][0][0].get<double>(), sum, 1e-9);
}

}  // namespace
}  // namespace sluice
