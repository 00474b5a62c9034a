#include "cli/memory_plan.h"

#include <algorithm>

#include <fmt/format.h>

#include "cli/wire.h"

namespace sluice {
namespace {

// Beyond the arena: thread stacks, rings, logs, tables of the store, the heap's slack. Measured on the bundled model, December 2026: 12 MiB over what the process held
// before loading; the rest is room for growth of one answer's events.
constexpr Bytes kProcessRoom = 24_MiB;
constexpr int kContextDefault = 8192;
constexpr int kContextGrain = 256;
// A prompt's rows are worth memory until experts have no room: an eighth of what weights and KV leave, and never more rows than this by default.
constexpr std::uint64_t kActivationShare = 8;
constexpr int kRowsDefaultMax = 8192;
constexpr int kRowsDefaultMin = 16;

class Planner {
 public:
  Planner(const ModelOptions& options, const ModelLayout& layout, const Kernels& kernels, int threads, Bytes resident_now)
      : options_(options), layout_(layout), kernels_(kernels), threads_(threads), resident_now_(resident_now), layers_(expertLayers(layout, false)),
        shapes_(kvShapes(layout.config, false)), weights_(ResidentWeights::bytesFor(layout)) {}

  Result<MemoryPlan> plan() {
    if (options_.context > layout_.config.context_max)
      return Error{Errc::BadRequest, fmt::format("--context is {}, and this model was made for at most {} tokens (max_position_embeddings)", options_.context,
                                                 layout_.config.context_max)};
    MemoryPlan plan;
    plan.budget = TRY(budget());
    plan.has_experts = std::any_of(layers_.begin(), layers_.end(), [](const auto& layer) { return !layer.empty(); });
    plan.store.top_k = layout_.config.router.top_k;
    plan.store.experts_max = options_.cache_experts;
    const int slots_least = 2 * plan.store.top_k;
    if (plan.has_experts && options_.cache_experts != 0 && options_.cache_experts < slots_least)
      return Error{Errc::BadRequest, fmt::format("--cache-experts is {}, and this model needs at least {}: twice the {} experts that a layer chooses for a token",
                                                 options_.cache_experts, slots_least, plan.store.top_k)};
    slots_least_ = plan.has_experts ? ExpertStore::leastBytes(layers_, plan.store.top_k) : Bytes(0);
    const int context = chooseContext(plan.budget.total());
    plan.kv.context = context;
    plan.kv.format = options_.kvFormat();
    plan.decoder = decoderOptions(context, chooseRows(plan.budget.total(), context));
    plan.budget.reserve("program and texts", resident_now_ + kProcessRoom);
    plan.budget.reserve("resident weights", weights_);
    plan.budget.reserve("kv", kvBytes(context));
    plan.budget.reserve("activations", activationBytesFor(context, plan.decoder.rows_max));
    // Arena parts begin at pages of 2 MiB.
    plan.budget.reserve("alignment", kHugePage * 4);
    TRY(takeSlots(plan));
    Bytes arena = kHugePage * 4;
    for (const BudgetItem& item : plan.budget.items())
      if (item.name != "program and texts" && item.name != "alignment") arena += item.bytes;
    plan.arena = arena;
    return plan;
  }

 private:
  Result<MemoryBudget> budget() const {
    if (options_.ram.count() != 0) return MemoryBudget(options_.ram, "--ram");
    return MemoryBudget::automatic(TRY(availableMemory("/")));
  }

  Result<Done> takeSlots(MemoryPlan& plan) {
    if (!plan.has_experts) return plan.budget.check();
    ExpertStoreOptions all = plan.store;
    all.budget = Bytes(std::uint64_t(1) << 62);
    const ExpertStorePlan most = TRY(ExpertStore::plan(layers_, all));
    plan.store.budget = TRY(plan.budget.takeRest("expert slots", slots_least_, std::max(slots_least_, most.pool.bytes())));
    return Done{};
  }

  Bytes kvBytes(int context) const {
    LatentCacheOptions kv;
    kv.context = context;
    kv.format = options_.kvFormat();
    return LatentCache::bytesFor(shapes_, kv);
  }

  DecoderOptions decoderOptions(int context, int rows) const {
    DecoderOptions decoder;
    decoder.exact = options_.exact;
    decoder.planes = options_.activationBits() == 8 ? 1 : 2;
    decoder.rows_max = rows;
    decoder.context = context;
    return decoder;
  }

  Bytes activationBytesFor(int context, int rows) const { return Decoder::bytesFor(layout_.config, decoderOptions(context, rows), kernels_, threads_); }

  Bytes fixed() const { return resident_now_ + kProcessRoom + weights_ + kHugePage * 4 + slots_least_; }

  // 8,192 or what the model and the budget allow, the smaller; what was asked for is not questioned here, the budget's check says what it lacks.
  int chooseContext(Bytes total) const {
    if (options_.context != 0) return options_.context;
    const int most = std::min(kContextDefault, layout_.config.context_max);
    const auto fits = [&](int context) {
      const int rows = options_.prefill_rows != 0 ? options_.prefill_rows : kRowsDefaultMin;
      return fixed() + kvBytes(context) + activationBytesFor(context, std::min(rows, context)) <= total;
    };
    for (int context = most; context > kContextGrain; context = (context - 1) / kContextGrain * kContextGrain)
      if (fits(context)) return context;
    return std::min(most, kContextGrain);
  }

  int chooseRows(Bytes total, int context) const {
    if (options_.prefill_rows != 0) return std::min(options_.prefill_rows, context);
    const Bytes taken = fixed() + kvBytes(context);
    const Bytes share = taken >= total ? Bytes(0) : Bytes((total - taken).count() / kActivationShare);
    int rows = std::min(context, kRowsDefaultMax);
    while (rows > kRowsDefaultMin && activationBytesFor(context, rows) > share) rows = std::max(kRowsDefaultMin, rows / 2);
    return std::min(rows, context);
  }

  const ModelOptions& options_;
  const ModelLayout& layout_;
  const Kernels& kernels_;
  int threads_;
  Bytes resident_now_;
  std::vector<std::span<const ExpertLayout>> layers_;
  std::vector<KvLayerShape> shapes_;
  Bytes weights_;
  Bytes slots_least_{0};
};

}  // namespace

Result<MemoryPlan> planMemory(const ModelOptions& options, const ModelLayout& layout, const Kernels& kernels, int threads, Bytes resident_now) {
  return Planner(options, layout, kernels, threads, resident_now).plan();
}

}  // namespace sluice
