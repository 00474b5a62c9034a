#pragma once
// Packs the rows of all live timelines into forwards; the only caller of Forward.

#include <cstdint>
#include <vector>

#include "core/base/result.h"
#include "core/ports/forward.h"
#include "core/run/timeline.h"

namespace sluice {

class Driver {
 public:
  /// `forward` outlives the driver.
  explicit Driver(Forward& forward);
  ~Driver();
  Driver(const Driver&) = delete;
  Driver& operator=(const Driver&) = delete;

  /// Opens a sequence for `timeline`, which outlives its stay. errors: OutOfBudget (no sequence left)
  Result<Done> add(Timeline& timeline);
  /// One forward for what the live timelines want: single rows first, in order of arrival, then prompts with the room that is left. False, and
  /// nothing was computed, when none is live. A timeline that is done, failed or cancelled leaves, and its sequence is closed. When a forward over several
  /// fails they are tried one by one, so that each error finds its own.
  bool step();
  int live() const { return int(seats_.size()); }

 private:
  struct Seat {
    Timeline* timeline = nullptr;
    SequenceId sequence;
    int rows = 0;       // in the forward under way
    int logits = 0;     // of them, those that want logits
    int hidden = 0;     // of them, those that want their hidden values
  };
  class Watch;
  void leave(std::size_t seat_idx);
  void sweep();
  void pack(Seat& seat, int rows);
  void take(std::vector<Seat*>& seats, const ForwardOutput& output);
  void runAlone(Seat& seat);

  Forward& forward_;
  std::vector<Seat> seats_;
  std::vector<Seat*> packed_;
  std::vector<ForwardRow> rows_;
};

}  // namespace sluice
