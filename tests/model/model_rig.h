#pragma once
// A whole decoder over a model directory of tests/models, and what the tests ask of it.

#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/model/decoder.h"
#include "core/model/layout.h"
#include "core/ports/kernels.h"
#include "kv/latent_cache.h"
#include "tests/support/ram_expert_source.h"

namespace sluice {

/// Layout and resident weights, loaded once a process and directory.
struct LoadedModel {
  ModelLayout layout;
  Arena arena;
  ResidentWeights weights;
};
LoadedModel& loadedModel(const std::filesystem::path& directory);

/// Directories of tests/models that have a config.json and an expected.safetensors, by name, sorted.
std::vector<std::string> goldenModels();
std::filesystem::path modelPath(const std::string& name);

struct RigOptions {
  bool exact = true;
  int planes = 2;
  RowFormat kv = RowFormat::F32;
  Isa isa = Isa::Scalar;
  int threads = 1;
  int rows_max = 512;
  int logits_max = 0;
  int context = 1024;
  int sequences_max = 1;
  int slab_rows = 16;  // small, so that rows cross slabs
  int pins_max = 0;    // 0: the least allowed
  std::uint64_t seed = 1;
  std::function<void(ModelConfig&)> change = nullptr;  // of what config.json said
};
/// Integer products from 16-bit activations. Rows in f32: rounded to bf16 they flip near ties of routers and indexers, of which random weights are full.
RigOptions defaultPath();
RigOptions exactPath();

/// rows of vocabulary floats
using Logits = std::vector<std::vector<float>>;

struct Rig {
  Rig(const std::filesystem::path& directory, const RigOptions& options);
  /// Feeds `ids` to a sequence in pieces of `piece` rows, all wanting logits.
  Logits feed(SequenceId sequence, std::span<const TokenId> ids, int piece);
  /// Rows of `ids` as feed() makes them, from the sequence's length on.
  std::vector<ForwardRow> rowsFor(SequenceId sequence, std::span<const TokenId> ids) const;
  /// In a sequence of its own.
  Logits feedFresh(std::span<const TokenId> ids, int piece);

  LoadedModel& model;
  ModelConfig config;
  const Kernels* kernels;
  Team team;
  RamExpertSource experts;
  Arena arena;
  std::unique_ptr<LatentCache> kv;
  std::unique_ptr<Decoder> decoder;
};

std::vector<TokenId> tokensOf(std::span<const std::int64_t> ids);
int argmaxOf(std::span<const float> x);
/// Largest less second largest.
float marginOf(std::span<const float> x);

}  // namespace sluice
