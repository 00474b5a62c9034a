// What a decoder does besides computing rightly: the indexer's pitfalls, errors that name their place and commit nothing, views, cancellation.

#include <cmath>
#include <cstring>
#include <limits>

#include <gtest/gtest.h>

#include "tests/model/model_rig.h"
#include "tests/support/golden.h"
#include "tests/support/temp_dir.h"

namespace sluice {
namespace {

std::vector<TokenId> promptOf(const std::string& model, std::size_t rows) {
  std::vector<TokenId> ids = tokensOf(Golden(modelPath(model) / "expected.safetensors").integers("ids"));
  ids.resize(std::min(ids.size(), rows));
  return ids;
}

Logits head(const Logits& all, std::size_t rows) { return {all.begin(), all.begin() + std::ptrdiff_t(rows)}; }

TEST(SparseIndex, MattersPastItsTopK_AndIsANoOpBelow) {
  const std::vector<TokenId> ids = promptOf("glm", 80);  // top k is 24
  Rig sparse(modelPath("glm"), exactPath());
  RigOptions wide = exactPath(), absent = exactPath();
  wide.change = [](ModelConfig& c) { c.indexer.top_k = 80; };
  absent.change = [](ModelConfig& c) {
    for (LayerConfig& layer : c.layers) layer.indexer = IndexerRole::None;
  };
  Rig all(modelPath("glm"), wide), dense(modelPath("glm"), absent);
  const Logits a = sparse.feedFresh(ids, 80), b = all.feedFresh(ids, 80), c = dense.feedFresh(ids, 80);
  EXPECT_EQ(b, c);                        // a top k that holds everything is dense attention, to the bit
  EXPECT_EQ(head(a, 24), head(b, 24));    // so is any, while everything fits
  for (std::size_t row = 24; row < 80; ++row) EXPECT_NE(a[row], b[row]) << row;
}

struct IndexTap final : LayerTap {
  void hidden(LayerId, int, std::span<const float>) override {}
  void router(LayerId, int, std::span<const ExpertId>, std::span<const float>, float) override {}
  void index(LayerId layer, int row, std::span<const std::int32_t> p) override {
    if (row == 0) sets[layer.value()].assign(p.begin(), p.end());
  }
  std::map<std::uint32_t, std::vector<std::int32_t>> sets;
};

// Keys of tokens that were computed while everything was selected must be there when the first row selects.
TEST(SparseIndex, KeepsKeysFromTheBeginning_HoweverThePromptCame) {
  const std::vector<TokenId> ids = promptOf("glm", 60);
  std::map<std::uint32_t, std::vector<std::int32_t>> sets[3];
  const int pieces[3] = {59, 7, 1};
  for (int n = 0; n < 3; ++n) {
    Rig rig(modelPath("glm"), exactPath());
    const SequenceId sequence = rig.decoder->open().value();
    rig.feed(sequence, std::span(ids).first(59), pieces[n]);
    IndexTap tap;
    rig.decoder->setTap(&tap);
    rig.feed(sequence, std::span(ids).last(1), 1);
    sets[n] = tap.sets;
  }
  EXPECT_EQ(sets[0], sets[1]);
  EXPECT_EQ(sets[0], sets[2]);
  const std::vector<std::int64_t> golden = Golden(modelPath("glm") / "expected.safetensors").integers("index.4.ids");
  const std::vector<std::int32_t> want(golden.begin() + 59 * 24, golden.begin() + 60 * 24);
  EXPECT_EQ(sets[2].at(4), want);
  EXPECT_EQ(sets[2].size(), 3u);  // layers 0, 1, 4 own indexers; the others use their sets
  EXPECT_LT(want.front(), 24);    // tokens of the no-op region are among the chosen
}

struct Watch final : ForwardWatch {
  void progress(double done, double total) override {
    EXPECT_LE(done, total);
    ++calls;
  }
  bool cancelled() const override { return ++asked > patience; }
  int patience = 1 << 30, calls = 0;
  mutable int asked = 0;
};

TEST(Decoder, CancelsAnywhere_AndCommitsNothing) {
  const std::vector<TokenId> ids = promptOf("nano-gs64", 70);
  Rig rig(modelPath("nano-gs64"), defaultPath());
  const Logits want = rig.feedFresh(ids, 70);
  const SequenceId sequence = rig.decoder->open().value();
  Logits got = rig.feed(sequence, std::span(ids).first(30), 30);
  const std::vector<ForwardRow> rows = rig.rowsFor(sequence, std::span(ids).subspan(30));
  int cancellations = 0;
  for (int patience = 0;; patience += 5) {
    Watch watch;
    watch.patience = patience;
    const Result<ForwardOutput> out = rig.decoder->forward(rows, &watch);
    EXPECT_EQ(rig.experts.pinsHeld(), 0);
    EXPECT_EQ(rig.experts.demanded(), 0);
    if (!out.ok()) {
      ASSERT_EQ(out.error().code, Errc::Cancelled) << out.error().what;
      EXPECT_EQ(rig.kv->length(sequence), 30);
      ++cancellations;
      continue;
    }
    EXPECT_EQ(watch.calls, 7);  // before each of six layers, and at the end
    for (int r = 0; r < out.value().logits.rows; ++r) got.emplace_back(out.value().logits.row(r).begin(), out.value().logits.row(r).end());
    break;
  }
  EXPECT_GT(cancellations, 6);
  EXPECT_EQ(got, want);  // and what was cancelled left no trace
}

TEST(Decoder, PassesOnWhatTheExpertSourceSays_AndCommitsNothing) {
  const std::vector<TokenId> ids = promptOf("nano-gs64", 40);
  Rig rig(modelPath("nano-gs64"), defaultPath());
  const Logits want = rig.feedFresh(ids, 40);
  const SequenceId sequence = rig.decoder->open().value();
  const std::vector<ForwardRow> rows = rig.rowsFor(sequence, ids);
  for (const int nexts : {0, 3, 17, 60}) {
    rig.experts.failAfter(nexts);
    const Result<ForwardOutput> out = rig.decoder->forward(rows, nullptr);
    ASSERT_FALSE(out.ok());
    EXPECT_EQ(out.error().code, Errc::Io);
    EXPECT_EQ(rig.kv->length(sequence), 0);
    EXPECT_EQ(rig.experts.demanded() + rig.experts.pinsHeld(), 0);
  }
  EXPECT_EQ(rig.feed(sequence, ids, 40), want);
}

TEST(Decoder, NamesTheLayerWhereNumbersFirstBroke) {
  const std::vector<TokenId> ids = promptOf("nano-gs64", 8);
  Rig rig(modelPath("nano-gs64"), defaultPath());
  const float nan[1] = {std::numeric_limits<float>::quiet_NaN()};
  // A scale of every expert of layer 3 becomes NaN: whichever is chosen shows it.
  for (std::uint32_t e = 0; e < 32; ++e) {
    WeightMatrix& up = rig.experts.weights(LayerId(3), ExpertId(e)).up;
    std::memcpy(const_cast<float*>(up.scales), nan, sizeof nan);
  }
  const SequenceId sequence = rig.decoder->open().value();
  const std::vector<ForwardRow> rows = rig.rowsFor(sequence, ids);
  const Result<ForwardOutput> out = rig.decoder->forward(rows, nullptr);
  ASSERT_FALSE(out.ok());
  EXPECT_EQ(out.error().code, Errc::Numeric);
  EXPECT_NE(out.error().what.find("layer 3 (experts)"), std::string::npos) << out.error().what;
  EXPECT_EQ(rig.kv->length(sequence), 0);
}

TEST(Decoder, NamesAttention_AndTheHead_WhenTheyBroke) {
  const std::vector<TokenId> ids = promptOf("glm", 4);
  const auto errorWith = [&](auto spoil) {
    Rig rig(modelPath("glm"), exactPath());
    ResidentWeights weights = rig.model.weights;  // views: only what is replaced differs
    spoil(weights);
    Arena arena = std::move(Arena::create(Decoder::bytesFor(rig.config, {.exact = true, .rows_max = 8}, *rig.kernels, 1))).value();
    auto decoder = std::move(Decoder::create({&rig.config, &weights, &rig.experts, rig.kv.get(), rig.kernels, &rig.team}, {.exact = true, .rows_max = 8}, arena)).value();
    const std::vector<ForwardRow> rows = rig.rowsFor(decoder->open().value(), ids);
    const Result<ForwardOutput> out = decoder->forward(rows, nullptr);
    return out.ok() ? std::string("no error") : out.error().what;
  };
  const std::vector<float> norm(72, std::numeric_limits<float>::quiet_NaN());
  EXPECT_NE(errorWith([&](ResidentWeights& w) { w.layers[1].input_norm = norm; }).find("layer 1 (attention)"), std::string::npos);
  EXPECT_NE(errorWith([&](ResidentWeights& w) { w.layers[0].post_norm = norm; }).find("layer 0 (feed-forward)"), std::string::npos);
  EXPECT_NE(errorWith([&](ResidentWeights& w) { w.final_norm = norm; }).find("the head"), std::string::npos);
  std::vector<float> rows(192 * 72, 0.0f);
  rows[ids[2].value() * 72] = std::numeric_limits<float>::infinity();
  const WeightMatrix broken{reinterpret_cast<const std::byte*>(rows.data()), nullptr, 192, 72, 0, 0, 0, WeightFormat::F32};
  EXPECT_NE(errorWith([&](ResidentWeights& w) { w.embedding = broken; }).find("embedding"), std::string::npos);
  EXPECT_EQ(errorWith([](ResidentWeights&) {}), "no error");
}

TEST(Decoder, RefusesWhatCannotBe_InOneSentence) {
  RigOptions options = exactPath();
  options.context = 40;
  options.rows_max = 32;
  options.logits_max = 4;
  Rig rig(modelPath("glm"), options);
  const std::vector<TokenId> ids = promptOf("glm", 80);
  const SequenceId sequence = rig.decoder->open().value();
  const auto expectError = [&](std::vector<ForwardRow> rows, Errc code, const char* words) {
    const int before = rig.kv->length(sequence);
    const Result<ForwardOutput> out = rig.decoder->forward(rows, nullptr);
    ASSERT_FALSE(out.ok());
    EXPECT_EQ(out.error().code, code) << out.error().what;
    EXPECT_NE(out.error().what.find(words), std::string::npos) << out.error().what;
    EXPECT_EQ(rig.kv->length(sequence), before);
  };
  expectError({}, Errc::BadRequest, "0 rows");
  expectError(rig.rowsFor(sequence, std::span(ids).first(33)), Errc::BadRequest, "1 to 32");
  expectError(rig.rowsFor(sequence, std::span(ids).first(5)), Errc::BadRequest, "5 rows of one forward want logits; 4 may");
  expectError({{sequence, 0, TokenId(192), true, false}}, Errc::BadRequest, "token 192");
  std::vector<ForwardRow> rows = rig.rowsFor(sequence, std::span(ids).first(32));
  for (ForwardRow& row : rows) row.wants_logits = false;
  ASSERT_TRUE(rig.decoder->forward(rows, nullptr).ok());
  for (ForwardRow& row : rows) row.position += 32;
  expectError(rows, Errc::OutOfBudget, "64 tokens");
  EXPECT_EQ(rig.decoder->facts().logits_max, 4);
}

TEST(Decoder, GivesTheRowsThatWereAskedFor) {
  const std::vector<TokenId> ids = promptOf("glm", 10);
  Rig rig(modelPath("glm"), exactPath());
  const Logits want = rig.feedFresh(ids, 10);
  const SequenceId sequence = rig.decoder->open().value();
  std::vector<ForwardRow> rows = rig.rowsFor(sequence, ids);
  for (int i = 0; i < 10; ++i) {
    rows[std::size_t(i)].wants_logits = i % 3 == 1;
    rows[std::size_t(i)].wants_hidden = i >= 8;
  }
  const Result<ForwardOutput> out = rig.decoder->forward(rows, nullptr);
  ASSERT_TRUE(out.ok());
  ASSERT_EQ(out.value().logits.rows, 3);
  for (int n = 0; n < 3; ++n) {
    const std::span<float> row = out.value().logits.row(n);
    EXPECT_EQ(std::vector<float>(row.begin(), row.end()), want[std::size_t(3 * n + 1)]);
  }
  ASSERT_EQ(out.value().hidden.rows, 2);
  const std::vector<float> golden = Golden(modelPath("glm") / "expected.safetensors").floats("hidden.5");
  for (int n = 0; n < 2; ++n)
    for (int i = 0; i < 72; ++i) EXPECT_NEAR(out.value().hidden.row(n)[std::size_t(i)], golden[std::size_t((8 + n) * 72 + i)], 1e-4);
}

TEST(ResidentWeights, BytesAreTold_BeforeAnythingIsRead) {
  for (const std::string& name : goldenModels()) {
    const Result<ModelLayout> layout = openLayout(modelPath(name));
    ASSERT_TRUE(layout.ok());
    const Bytes bytes = ResidentWeights::bytesFor(layout.value());
    Arena exact = std::move(Arena::create(bytes)).value();
    ASSERT_TRUE(ResidentWeights::load(layout.value(), exact, nullptr).ok()) << name;
    EXPECT_EQ(exact.taken(), bytes) << name;
    // Less would not do.
    Arena small = std::move(Arena::create(bytes)).value();
    ASSERT_TRUE(small.take(small.capacity() - bytes + Bytes(64), 64, "other").ok());
    const auto refused = ResidentWeights::load(layout.value(), small, nullptr);
    ASSERT_FALSE(refused.ok());
    EXPECT_EQ(refused.error().code, Errc::OutOfBudget);
  }
}

TEST(ResidentWeights, NoticesAFileThatWasReplaced_AndCancellation) {
  const TempDir dir;
  for (const auto& entry : std::filesystem::directory_iterator(modelPath("glm"))) std::filesystem::copy(entry.path(), dir.path() / entry.path().filename());
  const ModelLayout layout = std::move(openLayout(dir.path())).value();
  Arena arena = std::move(Arena::create(ResidentWeights::bytesFor(layout) * 2)).value();
  Watch impatient;
  impatient.patience = 0;
  const auto stopped = ResidentWeights::load(layout, arena, &impatient);
  ASSERT_FALSE(stopped.ok());
  EXPECT_EQ(stopped.error().code, Errc::Cancelled);
  std::filesystem::resize_file(dir.path() / "model.safetensors", 1000);
  const auto changed = ResidentWeights::load(layout, arena, nullptr);
  ASSERT_FALSE(changed.ok());
  EXPECT_EQ(changed.error().code, Errc::Corrupt) << changed.error().what;
  EXPECT_NE(changed.error().what.find("model.safetensors"), std::string::npos);
}

}  // namespace
}  // namespace sluice
