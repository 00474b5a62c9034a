#pragma once
// What a model will cost before anything is bought: one named budget, from flags and facts. The token path buys nothing later.

#include "cli/options.h"
#include "core/model/decoder.h"
#include "core/model/layout.h"
#include "kv/latent_cache.h"
#include "stream/expert_store.h"
#include "stream/memory_budget.h"

namespace sluice {

struct MemoryPlan {
  MemoryBudget budget{Bytes(0), ""};
  DecoderOptions decoder;
  LatentCacheOptions kv;
  ExpertStoreOptions store;
  bool has_experts = false;
  Bytes arena{0};  // weights, KV, activations and slots together, with room for their alignment
};

/// in      `resident_now`: what this process holds already (program, tokenizer)
/// errors  BadRequest (a context longer than the model's; fewer cached experts than two per choice), OutOfBudget (a table of the items and the least
///         that would do), Io (the machine does not tell its memory)
Result<MemoryPlan> planMemory(const ModelOptions& options, const ModelLayout& layout, const Kernels& kernels, int threads, Bytes resident_now);

}  // namespace sluice
