#include "cli/wire.h"

#include <sched.h>
#include <xxhash.h>

#include <cstdlib>

#include <fmt/format.h>

#include "cli/memory_plan.h"
#include "cli/process_memory.h"
#include "cli/resident_sums.h"
#include "core/base/parallel.h"
#include "core/model/decoder.h"
#include "core/model/inspect.h"
#include "simd/dispatch.h"
#include "stream/sums.h"

namespace sluice {
namespace {

int usableCpus() {
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof set, &set) != 0) return 1;
  return std::max(1, CPU_COUNT(&set));
}

Result<Isa> chooseIsa(const ModelOptions& options) {
  if (!options.isa) return bestIsa();
  if (!isaUsable(*options.isa)) return Error{Errc::BadRequest, fmt::format("--isa {}: {}", nameOf(*options.isa), whyUnusable(*options.isa))};
  return *options.isa;
}

/// Passes the loader's watch to whoever reads the weights.
class WeightsWatch final : public ForwardWatch {
 public:
  explicit WeightsWatch(const LoadWatch& watch) : watch_(watch) {}
  void progress(double done, double total) override {
    if (watch_.progress) watch_.progress("loading the weights", done, total);
  }
  bool cancelled() const override { return watch_.cancelled && watch_.cancelled(); }

 private:
  const LoadWatch& watch_;
};

class NoExperts final : public ExpertSource {
 public:
  Ticket request(LayerId, std::span<const ExpertId>, Urgency) override { return {}; }
  Result<ExpertPin> next(Ticket&) override { return Error{Errc::NotFound, "this model has no routed experts"}; }
  void cancel(Ticket&) override {}
  int pins_max() const override { return 0; }
  StreamReport report() const override { return {}; }
  void unpin(std::uint32_t) override {}
};

/// A model whose experts come from disk. Members are destroyed in reverse: who uses, before who is used.
class StreamedModel final : public LoadedModel {
 public:
  Forward& forward() override { return *decoder_; }
  const LoadedFacts& facts() const override { return facts_; }
  StreamReport streamReport() const override { return experts_->report(); }
  std::vector<Warning> lateWarnings() const override { return device_ ? device_->report().report.warnings : std::vector<Warning>(); }
  void watch(LayerTap* tap) override { decoder_->setTap(tap); }

  static Result<std::unique_ptr<LoadedModel>> load(const ModelOptions& options, const LoadWatch& watch, const DeviceWrap& wrap) {
    auto made = std::unique_ptr<StreamedModel>(new StreamedModel());
    TRY(made->build(options, watch, wrap));
    return std::unique_ptr<LoadedModel>(std::move(made));
  }

 private:
  Result<Done> build(const ModelOptions& options, const LoadWatch& watch, const DeviceWrap& wrap) {
    layout_ = TRY(openLayout(options.model));
    const Isa isa = TRY(chooseIsa(options));
    const Kernels& kernels = kernelsFor(isa);
    const int threads = options.threads != 0 ? options.threads : usableCpus();
    const MemoryPlan plan = TRY(planMemory(options, layout_, kernels, threads, residentNow()));
    arena_.emplace(TRY(Arena::create(plan.arena)));
    team_.emplace(threads);
    sums_ = loadSums(sumsPath(stateDirectory(options), options.model), layout_.files, countExperts(true), residentExtents(layout_).size(), sums_report_);
    WeightsWatch weights_watch(watch);
    if (sums_) TRY(checkResidentSums(layout_, *sums_, watch));
    weights_ = TRY(ResidentWeights::load(layout_, *arena_, &weights_watch));
    kv_ = TRY(LatentCache::create(kvShapes(layout_.config, false), plan.kv, *arena_));
    TRY(buildExperts(options, plan, wrap));
    DecoderParts parts;
    parts.config = &layout_.config;
    parts.weights = &weights_;
    parts.experts = experts_.get();
    parts.kv = kv_.get();
    parts.kernels = &kernels;
    parts.team = &*team_;
    decoder_ = TRY(Decoder::create(parts, plan.decoder, *arena_));
    fillFacts(plan, isa);
    return Done{};
  }

  Result<Done> buildExperts(const ModelOptions& options, const MemoryPlan& plan, const DeviceWrap& wrap) {
    if (!plan.has_experts) {
      experts_ = std::make_unique<NoExperts>();
      return Done{};
    }
    layers_ = expertLayers(layout_, false);
    device_ = TRY(openDevice(layout_.files, deviceOptions(options)));
    if (wrap) device_ = wrap(std::move(device_));
    ExpertStoreOptions store = plan.store;
    if (sums_) {
      sums_->experts.resize(countExperts(false));  // the draft layer's experts come last, and are not streamed yet
      store.sums = &*sums_;
    }
    experts_ = TRY(ExpertStore::create(layers_, layout_.files, *device_, *arena_, clock_, store));
    return Done{};
  }

  std::size_t countExperts(bool with_mtp) const {
    std::size_t count = 0;
    for (const auto& layer : expertLayers(layout_, with_mtp)) count += layer.size();
    return count;
  }

  void fillFacts(const MemoryPlan& plan, Isa isa) {
    const ModelConfig& config = layout_.config;
    facts_.family = config.family;
    facts_.layers = int(config.layers.size());
    facts_.experts_a_row = config.router.top_k;
    for (const auto& layer : layers_) facts_.experts_total += int(layer.size());
    facts_.index_top_k = config.indexer.top_k;
    facts_.hidden = config.hidden;
    facts_.stop_ids = config.stop_ids;
    for (const LayoutWarning& w : layout_.warnings) facts_.warnings.push_back({w.code, w.text});
    facts_.warnings.insert(facts_.warnings.end(), sums_report_.warnings.begin(), sums_report_.warnings.end());
    facts_.model_hash = modelHash(layout_);
    facts_.isa = std::string(nameOf(isa));
    facts_.io = device_ ? device_->report().name : "none";
    facts_.budget = plan.budget.total();
    for (const BudgetItem& item : plan.budget.items()) facts_.memory.push_back({item.name, item.bytes});
  }

  SteadyClock clock_;
  ModelLayout layout_;
  std::optional<Arena> arena_;
  std::optional<Team> team_;
  ResidentWeights weights_;
  std::unique_ptr<LatentCache> kv_;
  std::vector<std::span<const ExpertLayout>> layers_;
  std::unique_ptr<BlockDevice> device_;
  Report sums_report_;
  std::optional<Sums> sums_;
  std::unique_ptr<ExpertSource> experts_;
  std::unique_ptr<Decoder> decoder_;
  LoadedFacts facts_;
};

}  // namespace

ModelLoader streamedModels(DeviceWrap wrap) {
  return [wrap = std::move(wrap)](const ModelOptions& options, const LoadWatch& watch) { return StreamedModel::load(options, watch, wrap); };
}

std::vector<std::span<const ExpertLayout>> expertLayers(const ModelLayout& layout, bool with_mtp) {
  std::vector<std::span<const ExpertLayout>> layers;
  for (const LayerLayout& layer : layout.layers) layers.emplace_back(layer.experts);
  if (with_mtp && layout.mtp) layers.emplace_back(layout.mtp->layer.experts);
  return layers;
}

std::uint64_t modelHash(const ModelLayout& layout) {
  std::string named = layout.config.family;
  for (const ModelFile& file : layout.files) named += fmt::format(";{} {}", file.path.filename().string(), file.size);
  for (const RoleSummary& role : summariseRoles(layout)) named += fmt::format(";{} {} {}", role.role, role.format, role.bytes.count());
  return XXH3_64bits(named.data(), named.size());
}

std::filesystem::path stateDirectory(const ModelOptions& options) {
  if (!options.state_dir.empty()) return options.state_dir;
  if (const char* state = std::getenv("XDG_STATE_HOME"); state != nullptr && *state == '/') return std::filesystem::path(state) / "sluice";
  if (const char* home = std::getenv("HOME"); home != nullptr && *home != '\0') return std::filesystem::path(home) / ".local" / "state" / "sluice";
  return "sluice-state";
}

DeviceOptions deviceOptions(const ModelOptions& options) {
  DeviceOptions device;
  device.io = options.io;
  device.read_depth = options.read_depth;
  device.caching = options.direct ? Caching::Direct : Caching::Buffered;
  return device;
}

}  // namespace sluice
