// Goal:   the decoder says what the reference implementation says, for every model directory that has expected values.
// Method: one forward over the prompt and one row at a time after it, with a tap; every tensor of expected.safetensors that the trunk makes is compared.

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <map>
#include <string>

#include <gtest/gtest.h>

#include "tests/model/model_rig.h"
#include "tests/support/golden.h"

namespace sluice {
namespace {

// Relative to the largest |logit| of the row (the bound); our own order of f32 sums differs from the reference's.
constexpr float kLogitTolerance = 1e-4f;
constexpr float kWeightTolerance = 2e-5f;

struct RecordingTap final : LayerTap {
  void hidden(LayerId layer, int row, std::span<const float> v) override { hiddens[{layer.value(), row}].assign(v.begin(), v.end()); }
  void router(LayerId layer, int row, std::span<const ExpertId> i, std::span<const float> w, float) override {
    std::map<std::int64_t, float>& choice = routes[{layer.value(), row}];
    for (std::size_t j = 0; j < i.size(); ++j) choice[i[j].value()] = w[j];
  }
  void index(LayerId layer, int row, std::span<const std::int32_t> p) override { indexes[{layer.value(), row}].assign(p.begin(), p.end()); }
  std::map<std::pair<std::uint32_t, int>, std::vector<float>> hiddens;
  std::map<std::pair<std::uint32_t, int>, std::map<std::int64_t, float>> routes;
  std::map<std::pair<std::uint32_t, int>, std::vector<std::int32_t>> indexes;
};

/// Largest difference over the largest wanted magnitude.
float relativeError(std::span<const float> got, std::span<const float> want) {
  float most = 0, off = 0;
  for (std::size_t i = 0; i < want.size(); ++i) {
    most = std::max(most, std::fabs(want[i]));
    off = std::max(off, std::fabs(got[i] - want[i]));
    if (std::isnan(got[i])) return INFINITY;
  }
  return off / most;
}

std::span<const float> rowOf(const std::vector<float>& all, std::size_t row, std::size_t cols) { return std::span(all).subspan(row * cols, cols); }

class GoldenModel : public testing::TestWithParam<std::string> {
 protected:
  Golden golden{modelPath(GetParam()) / "expected.safetensors"};
  std::vector<TokenId> ids = tokensOf(golden.integers("ids"));
  std::vector<TokenId> greedy = tokensOf(golden.integers("greedy"));
  std::vector<float> logits = golden.floats("logits"), greedy_logits = golden.floats("greedy_logits");
  std::size_t vocabulary = std::size_t(golden.shape("logits")[1]);
  std::size_t every = (ids.size() + golden.shape("logits")[0] - 1) / std::size_t(golden.shape("logits")[0]);  // positions a row of `logits`

  void compareTap(const RecordingTap& tap, const ModelConfig& config) const;
  void compareChoices(const RigOptions& options, float sure) const;
};

void GoldenModel::compareTap(const RecordingTap& tap, const ModelConfig& config) const {
  int routed = 0, indexed = 0;
  for (std::uint32_t layer = 0; layer < config.layers.size(); ++layer) {
    const std::string n = std::to_string(layer);
    const bool last = layer + 1 == config.layers.size();
    if (golden.has("hidden." + n) && !last) {
      const std::vector<float> want = golden.floats("hidden." + n);
      for (int r = 0; r < int(ids.size()); ++r)
        EXPECT_LT(relativeError(tap.hiddens.at({layer, r}), rowOf(want, std::size_t(r), std::size_t(config.hidden))), kLogitTolerance) << "layer " << n << " row " << r;
    }
    if (golden.has("router." + n + ".ids")) {
      const std::vector<std::int64_t> want = golden.integers("router." + n + ".ids");
      const std::vector<float> weights = golden.floats("router." + n + ".weights");
      const std::size_t k = std::size_t(config.router.top_k);
      for (int r = 0; r < int(ids.size()); ++r) {
        const std::map<std::int64_t, float>& got = tap.routes.at({layer, r});
        ASSERT_EQ(got.size(), k);
        for (std::size_t j = 0; j < k; ++j) {
          const std::size_t at = std::size_t(r) * k + j;
          ASSERT_TRUE(got.contains(want[at])) << "layer " << n << " row " << r << " lacks expert " << want[at];
          EXPECT_NEAR(got.at(want[at]), weights[at], kWeightTolerance * config.router.scale) << "layer " << n << " row " << r;
        }
        ++routed;
      }
    }
    if (golden.has("index." + n + ".ids")) {
      const std::vector<std::int64_t> want = golden.integers("index." + n + ".ids");
      const std::size_t k = std::size_t(golden.shape("index." + n + ".ids")[1]);
      for (int r = 0; r < int(ids.size()); ++r) {
        std::vector<std::int32_t> set;
        for (std::size_t j = 0; j < k; ++j)
          if (want[std::size_t(r) * k + j] >= 0) set.push_back(std::int32_t(want[std::size_t(r) * k + j]));
        EXPECT_EQ(tap.indexes.at({layer, r}), set) << "layer " << n << " row " << r;
        ++indexed;
      }
    }
  }
  EXPECT_GT(routed, 0);
  EXPECT_GT(indexed, 0);
}

TEST_P(GoldenModel, ExactPathEqualsTheReference_InLogitsRoutesIndexSetsAndGreedyIds) {
  Rig rig(modelPath(GetParam()), exactPath());
  const ModelConfig& config = rig.model.layout.config;
  RecordingTap tap;
  rig.decoder->setTap(&tap);
  const SequenceId sequence = rig.decoder->open().value();
  std::vector<ForwardRow> rows;
  for (std::size_t i = 0; i < ids.size(); ++i) rows.push_back({sequence, int(i), ids[i], true, true});
  const Result<ForwardOutput> result = rig.decoder->forward(rows, nullptr);
  ASSERT_TRUE(result.ok()) << result.error().what;
  rig.decoder->setTap(nullptr);

  float worst = 0;
  for (std::size_t at = 0; at * every < ids.size(); ++at) {
    const float error = relativeError(result.value().logits.row(int(at * every)), rowOf(logits, at, vocabulary));
    EXPECT_LT(error, kLogitTolerance) << "position " << at * every;
    worst = std::max(worst, error);
  }
  const std::vector<float> normed = golden.floats("hidden." + std::to_string(config.layers.size() - 1));
  for (std::size_t r = 0; r < ids.size(); ++r)
    EXPECT_LT(relativeError(result.value().hidden.row(int(r)), rowOf(normed, r, std::size_t(config.hidden))), kLogitTolerance) << "final norm, row " << r;
  compareTap(tap, config);

  std::vector<float> last(result.value().logits.row(int(ids.size()) - 1).begin(), result.value().logits.row(int(ids.size()) - 1).end());
  for (std::size_t step = 0; step < greedy.size(); ++step) {
    const float error = relativeError(last, rowOf(greedy_logits, step, vocabulary));
    EXPECT_LT(error, kLogitTolerance) << "step " << step;
    worst = std::max(worst, error);
    ASSERT_EQ(argmaxOf(last), int(greedy[step].value())) << "step " << step;
    last = rig.feed(sequence, {&greedy[step], 1}, 1)[0];
  }
  std::printf("exact %s: largest relative logit error %.3g\n", GetParam().c_str(), double(worst));

  // Negative control: the comparison sees one changed token.
  std::vector<TokenId> other = ids;
  other[ids.size() / 2] = TokenId((other[ids.size() / 2].value() + 1) % std::uint32_t(config.vocabulary));
  rig.decoder->close(sequence);
  const Logits changed = rig.feedFresh(other, int(ids.size()));
  EXPECT_GT(relativeError(changed[(ids.size() - 1) / every * every], rowOf(logits, (ids.size() - 1) / every, vocabulary)), kLogitTolerance);
}

void GoldenModel::compareChoices(const RigOptions& options, float sure) const {
  Rig rig(modelPath(GetParam()), options);
  std::vector<TokenId> all = ids;
  all.insert(all.end(), greedy.begin(), greedy.end() - 1);
  const Logits got = rig.feedFresh(all, int(all.size()));
  ASSERT_EQ(got.size(), all.size());
  int compared = 0, differing = 0;
  const auto compare = [&](std::size_t position, std::span<const float> want) {
    ++compared;
    if (argmaxOf(got[position]) == argmaxOf(want)) return;
    ++differing;
    std::printf("default %s: position %zu differs, margin %.4g\n", GetParam().c_str(), position, double(marginOf(want)));
    EXPECT_LT(marginOf(want), sure) << "position " << position;
  };
  for (std::size_t at = 0; at * every < ids.size(); ++at) compare(at * every, rowOf(logits, at, vocabulary));
  for (std::size_t step = 0; step < greedy.size(); ++step) compare(ids.size() - 1 + step, rowOf(greedy_logits, step, vocabulary));
  std::printf("default %s: %d of %d choices differ\n", GetParam().c_str(), differing, compared);
}

// Near ties may fall otherwise. On the trained model nothing but a true tie may: its margins are what 16-bit activations were chosen for.
TEST_P(GoldenModel, DefaultPathChoosesTheSame_WhereTheReferenceIsSure) { compareChoices(defaultPath(), GetParam() == "nano-gs64" ? 1e-3f : 0.3f); }

// Random weights are left out: their routers and indexers are full of near ties that bf16 rows flip.
class TrainedModel : public GoldenModel {};
TEST_P(TrainedModel, Bf16RowsChooseTheSame) {
  RigOptions options = defaultPath();
  options.kv = RowFormat::Bf16;
  compareChoices(options, GetParam() == "nano-gs64" ? 1e-3f : 0.3f);
}

std::string suiteName(const testing::TestParamInfo<std::string>& model) {
  std::string name = model.param;
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}
INSTANTIATE_TEST_SUITE_P(Models, GoldenModel, testing::ValuesIn(goldenModels()), suiteName);
INSTANTIATE_TEST_SUITE_P(Models, TrainedModel, testing::Values("nano-gs64"), suiteName);

}  // namespace
}  // namespace sluice
