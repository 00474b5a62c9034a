#pragma once
// Where expert weights come from. Called by core/model/moe; implemented by stream/expert_store. Shaped so that a remote provider can one
// day run experts on rows itself.

#include <array>
#include <chrono>
#include <cstdint>
#include <span>
#include <utility>

#include "core/base/bytes.h"
#include "core/base/ids.h"
#include "core/base/result.h"
#include "core/ports/kernels.h"

namespace sluice {

/// The three matrices of one routed expert, where they lie.
struct ExpertWeights {
  WeightMatrix gate, up, down;  // [inter, hidden], [inter, hidden], [hidden, inter]
};

enum class Urgency { Demand, Speculative };

/// A request under way: a handle into the source's own bounded table. Copyable, owns nothing; finish it with next() until it is
/// empty, or cancel().
struct Ticket {
  std::uint32_t handle = 0;
  int remaining = 0;  // experts that next() has still to hand out
};

class ExpertSource;

/// Holding a pin is the proof that the weights stay; only its destructor lets go.
class [[nodiscard]] ExpertPin {
 public:
  ExpertPin(ExpertSource& source, std::uint32_t slot, ExpertId expert, const ExpertWeights& weights)
      : source_(&source), slot_(slot), expert_(expert), weights_(&weights) {}
  ExpertPin(ExpertPin&& o) noexcept : source_(std::exchange(o.source_, nullptr)), slot_(o.slot_), expert_(o.expert_), weights_(o.weights_) {}
  ExpertPin& operator=(ExpertPin&&) = delete;
  inline ~ExpertPin();
  ExpertId expert() const { return expert_; }
  const ExpertWeights& weights() const { return *weights_; }

 private:
  ExpertSource* source_;
  std::uint32_t slot_;
  ExpertId expert_;
  const ExpertWeights* weights_;
};

/// Counted since the source was made.
struct StreamReport {
  std::uint64_t hits = 0, misses = 0;  // demanded experts found resident, or not
  std::uint64_t slots = 0;
  Bytes bytes_read{0};
  std::chrono::nanoseconds read_time{0};  // sum of the reads' own times
  std::chrono::nanoseconds wait_time{0};  // callers waited in next()
  // Guessed experts: asked for once resident; asked for while still in flight; evicted unused; refused for want of a slot.
  std::uint64_t speculative_used = 0, speculative_late = 0, speculative_vain = 0, speculative_dropped = 0;
  std::uint64_t reads_retried = 0;  // after EIO, a short read or a sum that did not match
  std::uint64_t joined = 0;         // of the misses, those whose read was already under way
};

class ExpertSource {
 public:
  virtual ~ExpertSource() = default;
  /// Asks for distinct experts of one layer, at most pins_max() of them when Demand. Starts the reads of those that are absent, all
  /// together. Never blocks. Pins held and experts demanded must not exceed 2 * pins_max() together. A speculative request that can't be
  /// met is dropped and counted; its ticket is empty from the start: nothing is handed out, nothing pinned.
  virtual Ticket request(LayerId layer, std::span<const ExpertId> experts, Urgency urgency) = 0;
  /// The next expert of `ticket` to be resident: resident ones first, then in order of arrival; blocks until one is. Outside parallel
  /// regions only. `ticket.remaining` falls by one. Errors (Io, Corrupt, Cancelled, Deadline) end the ticket: its other experts are let go.
  virtual Result<ExpertPin> next(Ticket& ticket) = 0;
  /// Gives up what next() has not handed out. Reads under way finish into the cache.
  virtual void cancel(Ticket& ticket) = 0;
  /// The most experts that may be demanded and pinned at once: never below top_k.
  virtual int pins_max() const = 0;
  virtual StreamReport report() const = 0;
  /// Only for ExpertPin's destructor.
  virtual void unpin(std::uint32_t slot) = 0;
};

inline ExpertPin::~ExpertPin() {
  if (source_ != nullptr) source_->unpin(slot_);
}

}  // namespace sluice
