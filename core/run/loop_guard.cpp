#include "core/run/loop_guard.h"

#include <algorithm>
#include <limits>

#include "core/base/check.h"
#include "core/base/rng.h"

namespace sluice {
namespace {

constexpr std::size_t kSeenSlots = 8192;  // four times the 6-grams that can be alive: collisions only forget, never invent
constexpr std::uint32_t kNumberSymbol = 0xffffffffu;
constexpr int kStreakMin = 6;             // a column that went one way this often counts; chance does so once in 2,500 numbers
constexpr int kBelief = 32;               // numbers for which that is believed: lists turn round at zero, tables begin new blocks

}  // namespace

LoopGuard::LoopGuard(const LoopThresholds& thresholds)
    : thresholds_(thresholds),
      history_(2 * kPeriodMax, std::numeric_limits<std::uint32_t>::max()),
      runs_(kPeriodMax, 0),
      seen_(kSeenSlots),
      is_new_(kNoveltyWindow, 1) {
  reset(thresholds);
}

void LoopGuard::reset(const LoopThresholds& thresholds) {
  thresholds_ = thresholds;
  count_ = 0;
  head_ = kPeriodMax;
  std::fill(history_.begin(), history_.end(), std::numeric_limits<std::uint32_t>::max());
  std::fill(runs_.begin(), runs_.end(), 0u);
  std::fill(seen_.begin(), seen_.end(), Seen{});
  std::fill(std::begin(gram_), std::end(gram_), 0u);
  std::fill(is_new_.begin(), is_new_.end(), std::uint8_t{1});
  new_in_window_ = kNoveltyWindow;
  symbols_ = 0;
  stale_ = 0;
  stale_since_ = 0;
  open_number_ = -1;
  number_count_ = 0;
  std::fill(&streaks_[0][0], &streaks_[0][0] + kColumnsMax * kColumnsMax, std::int8_t{0});
  steady_until_ = 0;
}

double LoopGuard::novelty() const { return double(new_in_window_) / kNoveltyWindow; }

LoopVerdict LoopGuard::push(TokenId id, TokenClass token_class, std::int64_t number) {
  // Every period at once: one compare and one masked increment each, over contiguous memory.
  const std::uint32_t* const before = history_.data() + head_;
  const std::uint32_t value = id.value();
  for (int p = 0; p < kPeriodMax; ++p) runs_[std::size_t(p)] = (before[p] == value) ? runs_[std::size_t(p)] + 1 : 0;
  head_ = (head_ == 0) ? kPeriodMax - 1 : head_ - 1;
  history_[std::size_t(head_)] = value;
  history_[std::size_t(head_ + kPeriodMax) % history_.size()] = value;
  ++count_;

  pushNumber(token_class, number);
  if (LoopVerdict cycle = cycleAtTail()) return cycle;

  // A run of number tokens is one symbol, so that 7, 42 and 1999 look alike however many tokens they take; its later tokens say nothing new or old.
  const std::uint32_t symbol = (token_class == TokenClass::Number) ? kNumberSymbol : value;
  if (symbol == kNumberSymbol && gram_[5] == std::uint64_t(kNumberSymbol) + 1) return {};
  const std::uint8_t is_new = sixGramIsNew(symbol) ? 1 : 0;
  std::uint8_t& oldest = is_new_[std::size_t(symbols_++ % kNoveltyWindow)];
  new_in_window_ += is_new - oldest;
  oldest = is_new;

  if (novelty() >= thresholds_.novelty_min) {
    stale_ = 0;
    return {};
  }
  if (stale_++ == 0) stale_since_ = count_ - 1;
  const int patience = countsSteadily() ? thresholds_.stale_min + thresholds_.counter_grace : thresholds_.stale_min;
  if (stale_ < patience) return {};
  LoopVerdict verdict;
  verdict.kind = LoopKind::Template;
  verdict.covered = stale_;
  verdict.start = std::max(0, stale_since_ - kNoveltyWindow);
  verdict.novelty = novelty();
  return verdict;
}

// The smallest period that qualifies is the primitive unit: a multiple of it qualifies later.
LoopVerdict LoopGuard::cycleAtTail() const {
  for (int period = 1; period <= kPeriodMax; ++period) {
    const int run = int(runs_[std::size_t(period - 1)]);
    const int covered = run + period;
    if (run < (thresholds_.copies_min - 1) * period || covered < thresholds_.cycle_covered_min) continue;
    LoopVerdict verdict;
    verdict.kind = LoopKind::Cycle;
    verdict.period = period;
    verdict.copies = covered / period;
    verdict.covered = covered;
    verdict.start = count_ - covered;
    verdict.novelty = novelty();
    return verdict;
  }
  return {};
}

bool LoopGuard::sixGramIsNew(std::uint32_t symbol) {
  std::copy(gram_ + 1, gram_ + 6, gram_);
  gram_[5] = std::uint64_t(symbol) + 1;
  std::uint64_t hash = 0;
  for (const std::uint64_t part : gram_) hash = mix64(hash ^ part);
  Seen& seen = seen_[hash % kSeenSlots];
  const bool known = seen.hash == hash && seen.position >= 0 && count_ - seen.position <= kMemory + kNoveltyWindow;
  seen = {hash, count_};
  return !known;
}

void LoopGuard::pushNumber(TokenClass token_class, std::int64_t number) {
  if (token_class == TokenClass::Number && number >= 0) {
    constexpr std::int64_t kLimit = std::numeric_limits<std::int64_t>::max() / 10000;
    open_number_ = (open_number_ < 0) ? number : (open_number_ > kLimit ? kLimit : open_number_ * (number > 99 ? 1000 : number > 9 ? 100 : 10) + number);
    return;
  }
  if (open_number_ < 0) return;
  const std::int64_t value = open_number_;
  open_number_ = -1;
  for (int width = 1; width <= std::min(number_count_, kColumnsMax); ++width) {
    std::int8_t& streak = streaks_[width - 1][number_count_ % width];
    const std::int64_t before = numbers_[width - 1];
    if (value > before) streak = std::int8_t(streak > 0 ? std::min(streak + 1, 100) : 1);
    if (value < before) streak = std::int8_t(streak < 0 ? std::max(streak - 1, -100) : -1);
    if (value != before && (streak >= kStreakMin || streak <= -kStreakMin)) steady_until_ = number_count_ + kBelief;
  }
  std::copy_backward(numbers_, numbers_ + kColumnsMax - 1, numbers_ + kColumnsMax);
  numbers_[0] = value;
  ++number_count_;
}

// Some column of numbers goes one way: a list, a table or a log that gets on.
bool LoopGuard::countsSteadily() const { return number_count_ < steady_until_; }

}  // namespace sluice
