#include "core/run/driver.h"

#include <algorithm>

#include "core/base/check.h"

namespace sluice {

/// Tells each timeline of a forward how far it is, and stops the forward when most of its rows are for nobody.
class Driver::Watch final : public ForwardWatch {
 public:
  explicit Watch(std::span<Seat* const> seats) : seats_(seats) {}
  void progress(double done, double total) override {
    if (total <= 0) return;
    for (Seat* seat : seats_) seat->timeline->progress(double(seat->rows) * done / total);
  }
  bool cancelled() const override {
    int rows = 0, wasted = 0;
    for (const Seat* seat : seats_) {
      rows += seat->rows;
      if (seat->timeline->cancelled()) wasted += seat->rows;
    }
    return wasted * 2 > rows;
  }

 private:
  std::span<Seat* const> seats_;
};

Driver::Driver(Forward& forward) : forward_(forward) {
  CHECK(forward.facts().rows_max > 0);
  rows_.reserve(std::size_t(forward.facts().rows_max));
}

Driver::~Driver() {
  for (const Seat& seat : seats_) forward_.close(seat.sequence);
}

Result<Done> Driver::add(Timeline& timeline) {
  Seat seat;
  seat.timeline = &timeline;
  seat.sequence = TRY(forward_.open());
  seats_.push_back(seat);
  packed_.reserve(seats_.size());
  return Done{};
}

void Driver::leave(std::size_t seat_idx) {
  forward_.close(seats_[seat_idx].sequence);
  seats_.erase(seats_.begin() + std::ptrdiff_t(seat_idx));
}

void Driver::sweep() {
  for (std::size_t i = seats_.size(); i-- > 0;) {
    Timeline& timeline = *seats_[i].timeline;
    if (!timeline.done() && timeline.cancelled()) timeline.fail(Error{Errc::Cancelled, "cancelled by the user"});
    if (timeline.done()) leave(i);
  }
}

void Driver::pack(Seat& seat, int rows) {
  const RowPlan plan = seat.timeline->plan();
  seat.rows = rows;
  seat.logits = 0;
  seat.hidden = 0;
  for (int i = 0; i < rows; ++i) {
    const bool last = std::size_t(i) + 1 == plan.tokens.size();
    const bool wants = plan.wants == RowWants::Every || last;
    rows_.push_back({seat.sequence, plan.position + i, plan.tokens[std::size_t(i)], wants, wants && plan.hidden});
    seat.logits += wants ? 1 : 0;
    seat.hidden += wants && plan.hidden ? 1 : 0;
  }
}

static MatView rowsOf(const MatView& all, int begin, int count) {
  MatView some = all;
  some.rows = count;
  some.data = count == 0 ? std::span<float>() : all.data.subspan(std::size_t(begin) * std::size_t(all.stride));
  return some;
}

void Driver::take(std::vector<Seat*>& seats, const ForwardOutput& output) {
  int logits_begin = 0, hidden_begin = 0;
  for (Seat* seat : seats) {
    const ForwardOutput mine{rowsOf(output.logits, logits_begin, seat->logits), rowsOf(output.hidden, hidden_begin, seat->hidden)};
    logits_begin += seat->logits;
    hidden_begin += seat->hidden;
    seat->timeline->advance(seat->rows, mine);
  }
}

void Driver::runAlone(Seat& seat) {
  std::vector<Seat*> alone{&seat};
  const int rows = seat.rows;
  rows_.clear();
  pack(seat, rows);
  Watch watch(alone);
  const Result<ForwardOutput> output = forward_.forward(rows_, &watch);
  if (output.ok()) {
    take(alone, output.value());
  } else {
    seat.timeline->fail(output.error());
  }
}

bool Driver::step() {
  sweep();
  if (seats_.empty()) return false;
  rows_.clear();
  packed_.clear();
  const int rows_max = forward_.facts().rows_max;
  int logits_left = forward_.facts().logits_max > 0 ? forward_.facts().logits_max : rows_max;
  for (const bool singles : {true, false}) {
    for (Seat& seat : seats_) {
      const RowPlan plan = seat.timeline->plan();
      const int wanted = int(plan.tokens.size());
      int room = rows_max - int(rows_.size());
      if (plan.wants == RowWants::Every) room = std::min(room, logits_left);
      // A last row for whose logits there is no room waits for the next forward.
      if (plan.wants == RowWants::Last && logits_left == 0) room = std::min(room, wanted - 1);
      if ((wanted == 1) != singles || room <= 0) continue;
      pack(seat, std::min(wanted, room));
      logits_left -= seat.logits;
      packed_.push_back(&seat);
    }
  }
  Watch watch(packed_);
  const Result<ForwardOutput> output = forward_.forward(rows_, &watch);
  if (output.ok()) {
    take(packed_, output.value());
  } else if (packed_.size() == 1) {
    packed_[0]->timeline->fail(output.error());
  } else {
    for (Seat* seat : packed_) {
      if (!seat->timeline->cancelled()) runAlone(*seat);
    }
  }
  sweep();
  return true;
}

}  // namespace sluice
