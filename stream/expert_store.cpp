#include "stream/expert_store.h"

#include <algorithm>

#include <fmt/format.h>

#include "core/base/check.h"
#include "stream/file_set.h"

namespace sluice {
namespace {

// A read that fails is tried so often in all: a cable that drops one command is forgiven, a dead sector is not waited for.
constexpr int kReadAttempts = 3;
// A sum that does not match is read again once: a bit that flipped on the way is cured by that, a bit on the disk is not.
constexpr int kSumAttempts = 2;
constexpr std::uint32_t kTicketBits = 6;

struct Census {
  std::vector<ExpertKind> kinds;
  std::vector<int> kind_of;  // by key
  int layer_experts_max = 0;
  Bytes all{0};
};

// Experts of one memory size are one kind, and a size within an eighth of the next larger one joins it: a slot that is a little too
// large is cheaper than slots that cannot be shared.
Census countKinds(ExpertStore::Layers layers) {
  Census census;
  std::vector<SlotPlan> plans;
  for (const std::span<const ExpertLayout> layer : layers) {
    census.layer_experts_max = std::max(census.layer_experts_max, int(layer.size()));
    for (const ExpertLayout& expert : layer) plans.push_back(planSlot(expert));
  }
  std::vector<std::uint64_t> sizes;
  for (const SlotPlan& plan : plans) sizes.push_back(plan.memory_bytes);
  std::sort(sizes.begin(), sizes.end(), std::greater<>());
  std::vector<std::uint64_t> heads;  // the largest size of each kind
  for (const std::uint64_t size : sizes)
    if (heads.empty() || size < heads.back() - heads.back() / 8) heads.push_back(size);
  census.kinds.resize(heads.size());
  for (const SlotPlan& plan : plans) {
    std::size_t kind_idx = 0;
    while (kind_idx + 1 < heads.size() && plan.memory_bytes <= heads[kind_idx + 1]) ++kind_idx;
    ExpertKind& kind = census.kinds[kind_idx];
    kind.slot_bytes = std::max(kind.slot_bytes, Bytes(plan.slot_bytes));
    ++kind.experts;
    census.kind_of.push_back(int(kind_idx));
  }
  for (const ExpertKind& kind : census.kinds) census.all += kind.slot_bytes * std::uint64_t(kind.experts);
  return census;
}

}  // namespace

Result<ExpertStorePlan> ExpertStore::plan(Layers layers, const ExpertStoreOptions& options) {
  const Census census = countKinds(layers);
  if (census.kinds.empty()) return Error{Errc::BadRequest, "the model has no routed experts: there is nothing to stream"};
  PoolPlan pool = TRY(planPool(census.kinds, {options.budget, options.experts_max, options.top_k}, census.layer_experts_max));
  return ExpertStorePlan{std::move(pool), leastPoolBytes(census.kinds, options.top_k), census.all};
}

Bytes ExpertStore::leastBytes(Layers layers, int top_k) { return leastPoolBytes(countKinds(layers).kinds, top_k); }

Result<std::unique_ptr<ExpertStore>> ExpertStore::create(Layers layers, std::span<const ModelFile> files, BlockDevice& device, Arena& arena,
                                                         const Clock& clock, const ExpertStoreOptions& options) {
  const ExpertStorePlan planned = TRY(plan(layers, options));
  const std::span<std::byte> memory = TRY(arena.take(planned.pool.bytes(), kHugePage.count(), "expert slots"));
  std::unique_ptr<ExpertStore> store(new ExpertStore(layers, files, device, clock, options, planned.pool));
  store->layOut(planned.pool, memory.data());
  return store;
}

ExpertStore::ExpertStore(Layers layers, std::span<const ModelFile> files, BlockDevice& device, const Clock& clock, const ExpertStoreOptions& options,
                         const PoolPlan& pool)
    : device_(device), clock_(clock), sums_(options.sums), files_(files.begin(), files.end()), pins_max_(pool.pins_max) {
  for (const std::span<const ExpertLayout> layer : layers) {
    layer_begin_.push_back(std::uint32_t(layouts_.size()));
    layouts_.insert(layouts_.end(), layer.begin(), layer.end());
  }
  layer_begin_.push_back(std::uint32_t(layouts_.size()));
  slot_of_.assign(layouts_.size(), -1);
  for (const int kind_idx : countKinds(layers).kind_of) class_of_.push_back(pool.class_of_kind[std::size_t(kind_idx)]);
  CHECK(sums_ == nullptr || sums_->experts.size() == layouts_.size());
  for (const SlotClass& c : pool.classes) {
    Class& made = classes_.emplace_back();
    made.first = slot_count_;
    made.count = c.slots;
    made.policy = makeCachePolicy(options.policy, c.slots);
    made.evictable.assign(std::size_t(c.slots), 0);
    for (int index = c.slots - 1; index >= 0; --index) made.free.push_back(index);
    slot_count_ += c.slots;
  }
  slots_ = std::make_unique<Slot[]>(std::size_t(slot_count_));
  tickets_.resize(kTicketsMax);
  for (TicketRecord& record : tickets_) {
    record.items.resize(std::size_t(pins_max_));
    record.ready.resize(std::size_t(pins_max_));
  }
  started_.reserve(std::size_t(slot_count_) * kPayloads);
  counts_.slots = std::uint64_t(slot_count_);
}

void ExpertStore::layOut(const PoolPlan& pool, std::byte* memory) {
  for (std::size_t class_idx = 0; class_idx < classes_.size(); ++class_idx) {
    const Class& c = classes_[class_idx];
    for (int index = 0; index < c.count; ++index) {
      Slot& slot = slots_[std::size_t(c.first + index)];
      slot.base = memory;
      slot.slot_class = int(class_idx);
      slot.index = index;
      memory += pool.classes[class_idx].slot_bytes.count();
    }
  }
}

ExpertStore::~ExpertStore() {
  drain();
  for (int slot_idx = 0; slot_idx < slot_count_; ++slot_idx) CHECK(slots_[std::size_t(slot_idx)].pins == 0);
}

void ExpertStore::drain() {
  std::unique_lock lock(mutex_);
  arrived_.wait(lock, [this] { return in_flight_ == 0; });
}

// ---- asking

Ticket ExpertStore::request(LayerId layer, std::span<const ExpertId> experts, Urgency urgency) {
  const std::lock_guard lock(mutex_);
  if (urgency == Urgency::Speculative) {
    requestGuessed(layer, experts);
    return {};
  }
  CHECK(int(experts.size()) <= pins_max_);
  if (experts.empty()) return {};
  const int record_idx = openRecord();
  TicketRecord& record = tickets_[std::size_t(record_idx)];
  record.count = int(experts.size());
  for (std::size_t item_idx = 0; item_idx < experts.size(); ++item_idx)
    record.items[item_idx] = {keyOf(layer, experts[item_idx]), -1, ItemState::Queued};
  watchOneFile();
  requestDemanded(record);
  return {(record.generation << kTicketBits) | std::uint32_t(record_idx), record.count};
}

// What is here or on its way is pinned before anything is evicted for the rest.
void ExpertStore::requestDemanded(TicketRecord& record) {
  for (int item_idx = 0; item_idx < record.count; ++item_idx) {
    Item& item = record.items[std::size_t(item_idx)];
    const int slot_idx = slot_of_[item.key];
    if (slot_idx < 0) continue;
    Slot& slot = slots_[std::size_t(slot_idx)];
    item.slot = slot_idx;
    pin(slot);
    if (slot.state == SlotState::Resident) {
      ++counts_.hits;
      if (slot.guessed) ++counts_.speculative_used;
      classes_[std::size_t(slot.slot_class)].policy->touch(slot.index);
      makeReady(record, item_idx);
    } else {
      ++counts_.misses;
      ++counts_.joined;
      if (slot.guessed) {
        ++counts_.speculative_late;
        for (int read_idx = 0; read_idx < slot.plan.read_count; ++read_idx) device_.promote(slot.reads[std::size_t(read_idx)]);
      }
      item.state = ItemState::Waiting;
    }
    slot.guessed = false;
  }
  for (int item_idx = 0; item_idx < record.count; ++item_idx) {
    if (record.items[std::size_t(item_idx)].slot >= 0) continue;
    ++counts_.misses;
    ++record.queued;
    ++queued_;
  }
  serveQueued();
}

void ExpertStore::requestGuessed(LayerId layer, std::span<const ExpertId> experts) {
  for (const ExpertId expert : experts) {
    const std::uint32_t key = keyOf(layer, expert);
    if (slot_of_[key] >= 0) continue;
    Slot* const slot = queued_ > 0 ? nullptr : takeSlot(class_of_[key]);
    if (slot == nullptr) {
      ++counts_.speculative_dropped;
      continue;
    }
    startReads(*slot, key, true);
  }
  submitStarted();
}

// Demanded experts that have no slot yet get one, the oldest request first; where its class has none left, younger requests of another class do.
void ExpertStore::serveQueued() {
  std::uint64_t order_next = 0;
  while (queued_ > 0) {
    TicketRecord* oldest = nullptr;
    for (TicketRecord& record : tickets_)
      if (record.live && record.queued > 0 && record.order >= order_next && (oldest == nullptr || record.order < oldest->order)) oldest = &record;
    if (oldest == nullptr) break;
    order_next = oldest->order + 1;
    for (int item_idx = 0; item_idx < oldest->count; ++item_idx)
      if (oldest->items[std::size_t(item_idx)].slot < 0 && oldest->items[std::size_t(item_idx)].state == ItemState::Queued) serveItem(*oldest, item_idx);
  }
  submitStarted();
}

void ExpertStore::serveItem(TicketRecord& record, int item_idx) {
  Item& item = record.items[std::size_t(item_idx)];
  if (slot_of_[item.key] < 0) {  // otherwise another ticket has begun it meanwhile
    Slot* const taken = takeSlot(class_of_[item.key]);
    if (taken == nullptr) return;
    startReads(*taken, item.key, false);
  }
  item.slot = slot_of_[item.key];
  Slot& slot = slots_[std::size_t(item.slot)];
  slot.guessed = false;
  pin(slot);
  --record.queued;
  --queued_;
  if (slot.state == SlotState::Resident) {
    makeReady(record, item_idx);
    arrived_.notify_all();
  } else {
    item.state = ItemState::Waiting;
  }
}

void ExpertStore::startReads(Slot& slot, std::uint32_t key, bool guessed) {
  slot.state = SlotState::InFlight;
  slot.guessed = guessed;
  slot.key = key;
  slot.plan = planSlot(layouts_[key]);
  CHECK(slot.plan.read_count > 0);  // the census knows no expert without weights
  slot.weights = weightsIn(slot.plan, layouts_[key], slot.base);
  slot.failed_read.store(-1, std::memory_order_relaxed);
  slot.sums_failed = 0;
  slot.reads_left.store(slot.plan.read_count, std::memory_order_relaxed);
  slot_of_[key] = int(&slot - slots_.get());
  // Ranked when asked for, not when it arrives: what is evicted later must not depend on the disk's luck.
  classes_[std::size_t(slot.slot_class)].policy->admit(slot.index, key, !guessed);
  ++in_flight_;
  for (int read_idx = 0; read_idx < slot.plan.read_count; ++read_idx) {
    const PlannedRead& planned = slot.plan.reads[std::size_t(read_idx)];
    SlotRead& read = slot.reads[std::size_t(read_idx)];
    read.file = planned.file;
    read.offset = planned.offset;
    read.bytes = planned.bytes;
    read.destination = slot.base + planned.slot_offset;
    read.urgency = guessed ? Urgency::Speculative : Urgency::Demand;
    read.sink = this;
    read.slot = std::uint32_t(slot_of_[key]);
    read.attempts = 1;
    started_.push_back(&read);
  }
}

void ExpertStore::submitStarted() {
  if (started_.empty()) return;
  device_.submit(started_);
  started_.clear();
}

// ---- slots

std::uint32_t ExpertStore::keyOf(LayerId layer, ExpertId expert) const {
  CHECK(layer.value() + 1 < layer_begin_.size());
  const std::uint32_t key = layer_begin_[layer.value()] + expert.value();
  CHECK(key < layer_begin_[layer.value() + 1]);
  return key;
}

void ExpertStore::pin(Slot& slot) {
  ++slot.pins;
  classes_[std::size_t(slot.slot_class)].evictable[std::size_t(slot.index)] = 0;
}

void ExpertStore::dropPin(Slot& slot) {
  CHECK(slot.pins > 0);
  if (--slot.pins == 0 && slot.state == SlotState::Resident) classes_[std::size_t(slot.slot_class)].evictable[std::size_t(slot.index)] = 1;
}

ExpertStore::Slot* ExpertStore::takeSlot(int slot_class) {
  Class& c = classes_[std::size_t(slot_class)];
  if (!c.free.empty()) {
    const int index = c.free.back();
    c.free.pop_back();
    return &slots_[std::size_t(c.first + index)];
  }
  const int index = c.policy->victim(c.evictable);
  if (index < 0) return nullptr;
  Slot& slot = slots_[std::size_t(c.first + index)];
  evict(slot);
  return &slot;
}

void ExpertStore::evict(Slot& slot) {
  CHECK(slot.pins == 0 && slot.state == SlotState::Resident);
  Class& c = classes_[std::size_t(slot.slot_class)];
  c.policy->forget(slot.index);
  c.evictable[std::size_t(slot.index)] = 0;
  slot_of_[slot.key] = -1;
  slot.state = SlotState::Free;
  if (slot.guessed) ++counts_.speculative_vain;
}

void ExpertStore::unpin(std::uint32_t slot_idx) {
  const std::lock_guard lock(mutex_);
  CHECK(slot_idx < std::uint32_t(slot_count_));
  dropPin(slots_[slot_idx]);
  if (queued_ > 0) serveQueued();
}

// ---- handing out

int ExpertStore::openRecord() {
  const auto record = std::find_if(tickets_.begin(), tickets_.end(), [](const TicketRecord& r) { return !r.live; });
  CHECK(record != tickets_.end());  // more than kTicketsMax requests that nobody finished
  record->live = true;
  record->generation = (record->generation + 1) & 0x00ffffffu;
  record->order = ticket_order_++;
  record->count = record->ready_begin = record->ready_end = record->queued = 0;
  record->error.reset();
  return int(record - tickets_.begin());
}

ExpertStore::TicketRecord& ExpertStore::recordOf(const Ticket& ticket) {
  TicketRecord& record = tickets_[ticket.handle & ((1u << kTicketBits) - 1)];
  CHECK(record.live && record.generation == ticket.handle >> kTicketBits);
  return record;
}

// Lets go of what was not handed out.
void ExpertStore::closeRecord(TicketRecord& record) {
  for (int item_idx = 0; item_idx < record.count; ++item_idx) {
    Item& item = record.items[std::size_t(item_idx)];
    if (item.state != ItemState::Handed && item.slot >= 0) dropPin(slots_[std::size_t(item.slot)]);
  }
  queued_ -= record.queued;
  record.queued = 0;
  record.live = false;
  if (queued_ > 0) serveQueued();
}

void ExpertStore::makeReady(TicketRecord& record, int item_idx) {
  record.items[std::size_t(item_idx)].state = ItemState::Ready;
  record.ready[std::size_t(record.ready_end++)] = item_idx;
}

// Nothing will arrive, nothing can be evicted: the caller holds more than it may.
bool ExpertStore::isStuck(const TicketRecord& record) const { return in_flight_ == 0 && record.queued > 0; }

Result<ExpertPin> ExpertStore::next(Ticket& ticket) {
  CHECK(ticket.remaining > 0);
  std::unique_lock lock(mutex_);
  TicketRecord& record = recordOf(ticket);
  const auto decided = [&] { return replaced_ || record.error || record.ready_begin < record.ready_end || isStuck(record); };
  if (!decided()) {
    const std::chrono::nanoseconds begin = clock_.now();
    arrived_.wait(lock, decided);
    counts_.wait_time += clock_.now() - begin;
  }
  if (replaced_ || record.error || record.ready_begin == record.ready_end) {
    Error error = replaced_      ? *replaced_
                  : record.error ? *std::move(record.error)
                                 : Error{Errc::OutOfBudget, fmt::format("{} waits for a cache slot and all {} are pinned: at most {} experts may be "
                                                                        "demanded and held at once",
                                                                        nameOf(record.items[0].key), slot_count_, 2 * pins_max_)};
    ticket.remaining = 0;
    closeRecord(record);
    return error;
  }
  Item& item = record.items[std::size_t(record.ready[std::size_t(record.ready_begin++)])];
  item.state = ItemState::Handed;
  Slot& slot = slots_[std::size_t(item.slot)];
  const std::uint32_t key = slot.key;
  if (--ticket.remaining == 0) closeRecord(record);
  const auto layer_end = std::upper_bound(layer_begin_.begin(), layer_begin_.end(), key);
  return ExpertPin(*this, std::uint32_t(&slot - slots_.get()), ExpertId(key - *(layer_end - 1)), slot.weights);
}

void ExpertStore::cancel(Ticket& ticket) {
  if (ticket.remaining == 0) return;
  const std::lock_guard lock(mutex_);
  closeRecord(recordOf(ticket));
  ticket.remaining = 0;
}

StreamReport ExpertStore::report() const {
  const std::lock_guard lock(mutex_);
  return counts_;
}

// ---- arriving: on the device's threads

void ExpertStore::readDone(ReadOp& op, const ReadDone& done) {
  auto& read = static_cast<SlotRead&>(op);
  Slot& slot = slots_[read.slot];
  const bool whole = done.error == 0 && done.bytes >= op.bytes;
  {
    const std::lock_guard lock(mutex_);
    counts_.bytes_read += Bytes(done.bytes);
    counts_.read_time += done.time;
    if (!whole && read.attempts < kReadAttempts) ++counts_.reads_retried;
  }
  if (!whole) {
    if (read.attempts < kReadAttempts) {
      ++read.attempts;
      ReadOp* const again = &op;
      device_.submit({&again, 1});
      return;
    }
    int none = -1;
    if (slot.failed_read.compare_exchange_strong(none, int(&read - slot.reads.data()))) {
      slot.failed_error = done.error;
      slot.failed_bytes = done.bytes;
    }
  }
  if (slot.reads_left.fetch_sub(1, std::memory_order_acq_rel) == 1) finish(slot);
}

// All reads of a slot have ended. Whatever is not surely right never becomes resident.
void ExpertStore::finish(Slot& slot) {
  std::optional<Error> fault = faultOf(slot);
  if (fault && slot.sums_failed < kSumAttempts) {
    slot.reads_left.store(slot.plan.read_count, std::memory_order_relaxed);
    std::array<ReadOp*, kPayloads> again;
    for (std::size_t read_idx = 0; read_idx < again.size(); ++read_idx) {
      slot.reads[read_idx].attempts = 1;
      again[read_idx] = &slot.reads[read_idx];
    }
    {
      const std::lock_guard lock(mutex_);
      ++counts_.reads_retried;
    }
    device_.submit({again.data(), std::size_t(slot.plan.read_count)});
    return;
  }
  if (!fault) settlePayloads(slot.plan, slot.base);

  const std::lock_guard lock(mutex_);
  const int slot_idx = int(&slot - slots_.get());
  Class& c = classes_[std::size_t(slot.slot_class)];
  --in_flight_;
  if (!fault) {
    slot.state = SlotState::Resident;
    c.evictable[std::size_t(slot.index)] = slot.pins == 0 ? 1 : 0;
  }
  for (TicketRecord& record : tickets_) {
    if (!record.live) continue;
    for (int item_idx = 0; item_idx < record.count; ++item_idx) {
      Item& item = record.items[std::size_t(item_idx)];
      if (item.state != ItemState::Waiting || item.slot != slot_idx) continue;
      if (!fault) {
        makeReady(record, item_idx);
      } else {
        item.slot = -1;
        item.state = ItemState::Handed;  // nothing of it is left to let go
        --slot.pins;
        if (!record.error) record.error = *fault;
      }
    }
  }
  if (fault) {
    CHECK(slot.pins == 0);
    slot_of_[slot.key] = -1;
    slot.state = SlotState::Free;
    c.policy->forget(slot.index);
    c.free.push_back(slot.index);
  }
  if (queued_ > 0) serveQueued();
  arrived_.notify_all();
}

std::optional<Error> ExpertStore::faultOf(Slot& slot) {
  // Asked after the reads: bytes that came from a file which is still the old one are the old bytes.
  for (int read_idx = 0; read_idx < slot.plan.read_count; ++read_idx) {
    Result<Done> unchanged = checkUnchanged(files_[slot.plan.reads[std::size_t(read_idx)].file]);
    if (unchanged.ok()) continue;
    const std::lock_guard lock(mutex_);
    if (!replaced_) replaced_ = unchanged.error();
    slot.sums_failed = kSumAttempts;
    return std::move(unchanged).error();
  }
  if (slot.failed_read.load(std::memory_order_acquire) >= 0) {
    slot.sums_failed = kSumAttempts;  // nothing more is tried
    return readError(slot);
  }
  if (sums_ == nullptr || sumPayloads(slot.plan, slot.base) == sums_->experts[slot.key]) return std::nullopt;
  ++slot.sums_failed;
  const Extent& extent = slot.plan.payloads[0].extent;
  return Error{Errc::Corrupt, fmt::format("{} does not match its sum, twice: its gate weights lie in {} at byte {}; the file has changed or the disk is "
                                          "failing: copy the file again, then run `sluice verify --write`",
                                          nameOf(slot.key), files_[extent.file].path.string(), extent.offset)};
}

Error ExpertStore::readError(const Slot& slot) const {
  const PlannedRead& read = slot.plan.reads[std::size_t(slot.failed_read.load(std::memory_order_acquire))];
  const std::string& path = files_[read.file].path.string();
  if (slot.failed_error != 0)
    return Error{Errc::Io, fmt::format("cannot read {}: {} bytes at byte {} of {}, {} times: {}; check the disk (dmesg), then try again", nameOf(slot.key),
                                       read.bytes, read.offset, path, kReadAttempts, errnoText(slot.failed_error))};
  return Error{Errc::Io, fmt::format("cannot read {}: {} of {} bytes came from byte {} of {}, {} times; check the disk (dmesg) and the file's length",
                                     nameOf(slot.key), slot.failed_bytes, read.bytes, read.offset, path, kReadAttempts)};
}

std::string ExpertStore::nameOf(std::uint32_t key) const {
  const auto layer_end = std::upper_bound(layer_begin_.begin(), layer_begin_.end(), key);
  return fmt::format("expert {} of layer {}", key - *(layer_end - 1), layer_end - layer_begin_.begin() - 1);
}

// One stat a request, round and round: a file that is replaced while everything is resident is noticed too.
void ExpertStore::watchOneFile() {
  if (files_.empty() || replaced_) return;
  file_watched_ = (file_watched_ + 1) % std::uint32_t(files_.size());
  Result<Done> unchanged = checkUnchanged(files_[file_watched_]);
  if (!unchanged.ok()) replaced_ = std::move(unchanged).error();
}

}  // namespace sluice
