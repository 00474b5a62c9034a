#pragma once
// A model ready to compute, as the commands see it: what wire.cpp makes of weights and devices, or a test program of a script.

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "cli/options.h"
#include "core/base/report.h"
#include "core/model/layer_tap.h"
#include "core/ports/expert_source.h"
#include "core/ports/forward.h"

namespace sluice {

/// One part of the memory that was bought.
struct MemoryItem {
  std::string name;
  Bytes bytes{0};
};

struct LoadedFacts {
  std::string family;
  int layers = 0;
  int experts_a_row = 0;   // top k; 0: no experts
  int experts_total = 0;   // of all layers
  int index_top_k = 0;     // positions that a full indexer chooses; 0: none
  int hidden = 0;
  std::vector<TokenId> stop_ids;    // of config.json and generation_config.json
  std::vector<Warning> warnings;    // of the weights, and of what was refused and done without while loading
  std::uint64_t model_hash = 0;     // names the weights: sizes, formats and names, no contents
  std::string isa, io;              // in use
  Bytes budget{0};
  std::vector<MemoryItem> memory;
};

class LoadedModel {
 public:
  virtual ~LoadedModel() = default;
  virtual Forward& forward() = 0;
  virtual const LoadedFacts& facts() const = 0;
  virtual StreamReport streamReport() const = 0;
  /// What the disk had to say since the model was loaded (files read through the page cache, rings refused).
  virtual std::vector<Warning> lateWarnings() const = 0;
  /// Sees what forwards compute from now on; null: nobody. `tap` outlives its use.
  virtual void watch(LayerTap* tap) = 0;
};

/// `done` of `total` bytes of `what` are there.
using LoadProgress = std::function<void(std::string_view what, double done, double total)>;
/// Asked now and then while loading: true stops it with Cancelled.
using LoadCancelled = std::function<bool()>;

struct LoadWatch {
  LoadProgress progress;
  LoadCancelled cancelled;
};

/// Makes a model of a directory.
using ModelLoader = std::function<Result<std::unique_ptr<LoadedModel>>(const ModelOptions& options, const LoadWatch& watch)>;

}  // namespace sluice
