#pragma once
// The cache of experts over a block device: the one owner of slots, and the one file that changes their state
// (absent -> in flight -> resident -> pinned; docs/ARCHITECTURE.md, "The journey of an expert block").

#include <array>
#include <atomic>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include "core/base/arena.h"
#include "core/base/clock.h"
#include "core/ports/expert_source.h"
#include "stream/block_device.h"
#include "stream/cache_policy.h"
#include "stream/pool_plan.h"
#include "stream/slot_plan.h"
#include "stream/sums.h"

namespace sluice {

struct ExpertStoreOptions {
  Bytes budget{0};      // for slots, of the arena
  int experts_max = 0;  // --cache-experts; 0: as many as the budget holds
  int top_k = 0;        // experts that a layer chooses for a row
  CachePolicyKind policy = CachePolicyKind::Lru;
  const Sums* sums = nullptr;  // checked on arrival when given; of this model (loadSums() sees to that); outlives the store
};

/// What the slots would cost, before anything is bought: for `plan` and for error texts.
struct ExpertStorePlan {
  PoolPlan pool;
  Bytes least{0};  // 2 x top_k of the largest
  Bytes all{0};    // every expert resident
};

class ExpertStore final : public ExpertSource, private ReadSink {
 public:
  /// Experts of a layer, by LayerId; dense layers have none, a draft layer comes last.
  using Layers = std::span<const std::span<const ExpertLayout>>;

  /// errors  BadRequest (no experts at all), OutOfBudget (names the least that would do)
  static Result<ExpertStorePlan> plan(Layers layers, const ExpertStoreOptions& options);

  /// 2 x top_k slots of the largest expert: the least budget that create() accepts. 0 when there are no experts.
  static Bytes leastBytes(Layers layers, int top_k);

  /// Buys every slot from `arena`: nothing is allocated after. `device`, `arena`, `clock` and `options.sums` outlive the store.
  /// errors  as plan(), and OutOfBudget when the arena has less left than the slots need
  static Result<std::unique_ptr<ExpertStore>> create(Layers layers, std::span<const ModelFile> files, BlockDevice& device, Arena& arena,
                                                     const Clock& clock, const ExpertStoreOptions& options);
  /// Waits for reads under way. No pin may be left.
  ~ExpertStore();

  // ExpertSource. threads: any, a ticket from one at a time.
  Ticket request(LayerId layer, std::span<const ExpertId> experts, Urgency urgency) override;
  Result<ExpertPin> next(Ticket& ticket) override;
  void cancel(Ticket& ticket) override;
  int pins_max() const override { return pins_max_; }
  StreamReport report() const override;
  void unpin(std::uint32_t slot) override;

  /// Waits until no read is under way: for tests and orderly ends.
  void drain();

 private:
  struct SlotRead : ReadOp {
    std::uint32_t slot = 0;
    int attempts = 0;
  };
  enum class SlotState : std::uint8_t { Free, InFlight, Resident };
  struct Slot {
    std::byte* base = nullptr;
    int slot_class = 0, index = 0;  // index in its class
    SlotState state = SlotState::Free;
    bool guessed = false;  // read by a guess, not asked for yet
    int pins = 0;
    std::uint32_t key = 0;
    // While in flight the device's threads own what follows.
    SlotPlan plan;
    ExpertWeights weights;
    std::array<SlotRead, kPayloads> reads;
    std::atomic<int> reads_left{0};
    std::atomic<int> failed_read{-1};  // index of a read that failed for good
    int failed_error = 0;
    std::uint64_t failed_bytes = 0;
    int sums_failed = 0;
  };
  struct Class {
    int first = 0, count = 0;  // slots_[first, first + count)
    std::unique_ptr<CachePolicy> policy;
    std::vector<std::uint8_t> evictable;
    std::vector<int> free;
  };
  enum class ItemState : std::uint8_t { Queued, Waiting, Ready, Handed };
  struct Item {
    std::uint32_t key = 0;
    int slot = -1;
    ItemState state = ItemState::Queued;
  };
  struct TicketRecord {
    bool live = false;
    std::uint32_t generation = 0;
    std::uint64_t order = 0;  // of request
    std::vector<Item> items;  // bought once
    int count = 0;
    std::vector<int> ready;  // items in order of arrival, bought once
    int ready_begin = 0, ready_end = 0;
    int queued = 0;  // items that wait for a slot
    std::optional<Error> error;
  };
  static constexpr int kTicketsMax = 64;

  ExpertStore(Layers layers, std::span<const ModelFile> files, BlockDevice& device, const Clock& clock, const ExpertStoreOptions& options,
              const PoolPlan& pool);
  void layOut(const PoolPlan& pool, std::byte* memory);

  void readDone(ReadOp& op, const ReadDone& done) override;
  void finish(Slot& slot);
  std::optional<Error> faultOf(Slot& slot);
  Error readError(const Slot& slot) const;
  std::string nameOf(std::uint32_t key) const;

  // All of these under mutex_.
  std::uint32_t keyOf(LayerId layer, ExpertId expert) const;
  TicketRecord& recordOf(const Ticket& ticket);
  int openRecord();
  void closeRecord(TicketRecord& record);
  void pin(Slot& slot);
  void dropPin(Slot& slot);
  void makeReady(TicketRecord& record, int item_idx);
  Slot* takeSlot(int slot_class);
  void evict(Slot& slot);
  void startReads(Slot& slot, std::uint32_t key, bool guessed);
  void submitStarted();
  void serveQueued();
  void serveItem(TicketRecord& record, int item_idx);
  void requestDemanded(TicketRecord& record);
  void requestGuessed(LayerId layer, std::span<const ExpertId> experts);
  bool isStuck(const TicketRecord& record) const;
  void watchOneFile();

  BlockDevice& device_;
  const Clock& clock_;
  const Sums* sums_;
  const std::vector<ModelFile> files_;
  std::vector<ExpertLayout> layouts_;       // by key
  std::vector<std::uint32_t> layer_begin_;  // first key of a layer; one more at the end
  std::vector<int> class_of_;               // by key
  std::vector<int> slot_of_;                // by key; -1: absent
  std::vector<Class> classes_;
  std::unique_ptr<Slot[]> slots_;
  int slot_count_ = 0;
  int pins_max_ = 0;

  mutable std::mutex mutex_;
  std::condition_variable arrived_;
  std::vector<TicketRecord> tickets_;
  std::uint64_t ticket_order_ = 0;
  std::vector<ReadOp*> started_;  // reads to submit, bought once
  int in_flight_ = 0;             // slots
  int queued_ = 0;                // items of all tickets that wait for a slot
  std::uint32_t file_watched_ = 0;
  std::optional<Error> replaced_;  // a file was replaced: every answer from now on
  StreamReport counts_;
};

}  // namespace sluice
