#pragma once
// Notices, from token ids alone, that a generation repeats itself. It gives verdicts; core/run/generation acts on them. The guard never
// changes logits, allocates nothing after construction, and is a fold over the ids: feeding the same ids again gives the same verdicts.

#include <cstdint>
#include <string>
#include <vector>

#include "core/base/ids.h"

namespace sluice {

/// What a token is to the template detector. Made once from the vocabulary (core/run/token_classes).
enum class TokenClass : std::uint8_t {
  Word,         // letters, and whatever is none of the others
  Number,       // digits only, perhaps behind one space
  Space,        // white space without a line break
  Line,         // white space with a line break
  Punctuation,
};

enum class LoopKind : std::uint8_t { None, Cycle, Template };

/// What was seen, and how to say it.
struct LoopVerdict {
  LoopKind kind = LoopKind::None;
  int period = 0;   // Cycle: ids in one copy. Template: 0
  int copies = 0;   // Cycle: whole copies at the tail
  int covered = 0;  // ids that repeat: Cycle: run length; Template: ids since novelty fell
  int start = 0;    // index (in this region) of the first id of the loop
  double novelty = 1;
  explicit operator bool() const { return kind != LoopKind::None; }
};

/// Thresholds of one region of text. Reasoning is judged earlier than what a person reads.
struct LoopThresholds {
  int copies_min = 4;         // whole copies of a unit
  int cycle_covered_min;      // ids that the copies cover
  double novelty_min;         // share of new 6-grams among the last 256 ids; below it the text is stale
  int stale_min = 512;        // ids in a row that are stale
  int counter_grace;          // stale ids forgiven while the numbers count on steadily (lists to 500, tables, time stamps)
};
constexpr LoopThresholds kReasoningThresholds{4, 48, 0.06, 512, 1536};
constexpr LoopThresholds kContentThresholds{4, 256, 0.04, 512, 6144};

/// Looks at one region (a thought, or an answer) of one generation.
class LoopGuard {
 public:
  static constexpr int kPeriodMax = 1024;
  static constexpr int kNoveltyWindow = 256;   // ids whose share of new 6-grams is watched
  static constexpr int kMemory = 2048;         // ids before the window in which a 6-gram may have been seen

  explicit LoopGuard(const LoopThresholds& thresholds);
  /// Takes the next id of the region. `number` is the token's value when its class is Number and it fits, else -1.
  /// O(kPeriodMax) plain compares, a few hundred nanoseconds; independent of how long the text is.
  LoopVerdict push(TokenId id, TokenClass token_class, std::int64_t number);
  /// Starts a new region, with its own thresholds.
  void reset(const LoopThresholds& thresholds);
  double novelty() const;

 private:
  LoopVerdict cycleAtTail() const;
  bool sixGramIsNew(std::uint32_t symbol);
  void pushNumber(TokenClass token_class, std::int64_t number);
  bool countsSteadily() const;

  LoopThresholds thresholds_;
  int count_ = 0;
  std::vector<std::uint32_t> history_;  // the last kPeriodMax ids twice over, newest first from head_, so that compares are contiguous
  int head_ = 0;
  std::vector<std::uint32_t> runs_;     // runs_[p - 1]: ids at the tail that equal the id p before them

  struct Seen {
    std::uint64_t hash = 0;
    int position = -1;
  };
  std::vector<Seen> seen_;              // direct-mapped by hash
  std::uint64_t gram_[6] = {};
  std::vector<std::uint8_t> is_new_;    // of the last kNoveltyWindow ids
  int new_in_window_ = 0;
  int symbols_ = 0;                     // ids that took part: numbers count once
  int stale_ = 0;                       // ids in a row below novelty_min
  int stale_since_ = 0;

  // The number being read (digit tokens join), the last finished ones, and for each row width of a table how long each column has gone one way.
  static constexpr int kColumnsMax = 8;
  std::int64_t open_number_ = -1;
  std::int64_t numbers_[kColumnsMax] = {};               // newest first
  int number_count_ = 0;
  std::int8_t streaks_[kColumnsMax][kColumnsMax] = {};  // [row width - 1][column]: > 0 changes upwards in a row, < 0 downwards
  int steady_until_ = 0;                                // in numbers
};

}  // namespace sluice
