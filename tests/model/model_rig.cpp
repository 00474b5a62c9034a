#include "tests/model/model_rig.h"

#include <algorithm>

#include <gtest/gtest.h>

#include "simd/dispatch.h"

namespace sluice {

namespace {

DecoderOptions decoderOptions(const RigOptions& o) {
  return {.exact = o.exact, .planes = o.planes, .rows_max = o.rows_max, .logits_max = o.logits_max, .context = o.context};
}

LatentCacheOptions cacheOptions(const RigOptions& o) {
  return {.format = o.kv, .context = o.context, .sequences_max = o.sequences_max, .slab_rows = o.slab_rows};
}

Arena arenaFor(const ModelConfig& config, const RigOptions& o) {
  const Bytes bytes = Decoder::bytesFor(config, decoderOptions(o), kernelsFor(o.isa), o.threads) +
                      LatentCache::bytesFor(kvShapes(config, false), cacheOptions(o)) + Bytes(64);
  return std::move(Arena::create(bytes)).value();
}

ModelConfig changed(ModelConfig config, const RigOptions& o) {
  if (o.change) o.change(config);
  return config;
}

}  // namespace

LoadedModel& loadedModel(const std::filesystem::path& directory) {
  static std::map<std::string, std::unique_ptr<LoadedModel>> loaded;
  std::unique_ptr<LoadedModel>& slot = loaded[directory.string()];
  if (slot == nullptr) {
    Result<ModelLayout> layout = openLayout(directory);
    if (!layout.ok()) ADD_FAILURE() << layout.error().what;
    Arena arena = std::move(Arena::create(ResidentWeights::bytesFor(layout.value()))).value();
    Result<ResidentWeights> weights = ResidentWeights::load(layout.value(), arena, nullptr);
    if (!weights.ok()) ADD_FAILURE() << weights.error().what;
    slot.reset(new LoadedModel{std::move(layout).value(), std::move(arena), std::move(weights).value()});
  }
  return *slot;
}

std::filesystem::path modelPath(const std::string& name) { return std::filesystem::path(SLUICE_TEST_DATA) / "models" / name; }

std::vector<std::string> goldenModels() {
  std::vector<std::string> out;
  for (const auto& entry : std::filesystem::directory_iterator(std::filesystem::path(SLUICE_TEST_DATA) / "models"))
    if (std::filesystem::exists(entry.path() / "expected.safetensors") && std::filesystem::exists(entry.path() / "config.json"))
      out.push_back(entry.path().filename().string());
  std::sort(out.begin(), out.end());
  return out;
}

RigOptions defaultPath() { return {.exact = false, .planes = 2, .kv = RowFormat::F32, .isa = bestIsa()}; }
RigOptions exactPath() { return {.exact = true, .kv = RowFormat::F32, .isa = bestIsa()}; }

Rig::Rig(const std::filesystem::path& directory, const RigOptions& o)
    : model(loadedModel(directory)),
      config(changed(model.layout.config, o)),
      kernels(&kernelsFor(o.isa)),
      team(o.threads),
      experts(model.layout, o.pins_max, o.seed),
      arena(arenaFor(config, o)),
      kv(std::move(LatentCache::create(kvShapes(config, false), cacheOptions(o), arena)).value()),
      decoder(std::move(Decoder::create({&config, &model.weights, &experts, kv.get(), kernels, &team}, decoderOptions(o), arena))
                  .value()) {}

std::vector<ForwardRow> Rig::rowsFor(SequenceId sequence, std::span<const TokenId> ids) const {
  std::vector<ForwardRow> rows;
  for (std::size_t i = 0; i < ids.size(); ++i) rows.push_back({sequence, kv->length(sequence) + int(i), ids[i], true, false});
  return rows;
}

Logits Rig::feed(SequenceId sequence, std::span<const TokenId> ids, int piece) {
  Logits out;
  for (std::size_t at = 0; at < ids.size(); at += std::size_t(piece)) {
    const std::vector<ForwardRow> rows = rowsFor(sequence, ids.subspan(at, std::min(std::size_t(piece), ids.size() - at)));
    const Result<ForwardOutput> result = decoder->forward(rows, nullptr);
    if (!result.ok()) {
      ADD_FAILURE() << result.error().what;
      return out;
    }
    for (int r = 0; r < int(rows.size()); ++r) {
      const std::span<float> row = result.value().logits.row(r);
      out.emplace_back(row.begin(), row.end());
    }
  }
  return out;
}

Logits Rig::feedFresh(std::span<const TokenId> ids, int piece) {
  const SequenceId sequence = decoder->open().value();
  Logits out = feed(sequence, ids, piece);
  decoder->close(sequence);
  return out;
}

std::vector<TokenId> tokensOf(std::span<const std::int64_t> ids) {
  std::vector<TokenId> out;
  for (const std::int64_t id : ids) out.emplace_back(std::uint32_t(id));
  return out;
}

int argmaxOf(std::span<const float> x) { return int(std::max_element(x.begin(), x.end()) - x.begin()); }

float marginOf(std::span<const float> x) {
  const int best = argmaxOf(x);
  float second = -1e30f;
  for (int i = 0; i < int(x.size()); ++i)
    if (i != best) second = std::max(second, x[std::size_t(i)]);
  return x[std::size_t(best)] - second;
}

}  // namespace sluice
