#pragma once
// Byte-pair merging: one piece of text, as bytes, to ids.

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/ids.h"
#include "core/base/result.h"
#include "core/text/json_document.h"
#include "core/text/vocab.h"

namespace sluice {

/// The merges of a model by pair. Built once, then read from any thread.
class MergeTable {
 public:
  /// Reads `model.merges`: "a b" or ["a", "b"], rising rank. Merges whose result `mayNotResult` names are left out: text must not become
  /// control tokens. A pair that is there twice has its last rank, as in the reference, and a warning.
  /// errors  Corrupt: no two parts, or parts or a result that the vocabulary lacks
  static Result<MergeTable> read(const JsonNode& merges, const Vocabulary::Spellings& spellings, const std::vector<bool>& may_not_result, std::vector<std::string>& warnings);

  static constexpr std::uint32_t kNone = 0xFFFFFFFF;
  /// The rank of the merge of `left` and `right`, or kNone.
  std::uint32_t rank(std::uint32_t left, std::uint32_t right) const {
    const std::uint64_t key = keyOf(left, right);
    for (std::size_t slot = slotOf(key);; slot = (slot + 1) & mask_) {
      if (slots_[slot].key == key) return slots_[slot].rank;
      if (slots_[slot].key == kEmpty) return kNone;
    }
  }
  std::uint32_t result(std::uint32_t rank) const { return results_[rank]; }

 private:
  struct Slot {
    std::uint64_t key = kEmpty;
    std::uint32_t rank = kNone;
  };
  static constexpr std::uint64_t kEmpty = ~std::uint64_t(0);  // no pair: ids stay far below 2^32 - 1
  static std::uint64_t keyOf(std::uint32_t left, std::uint32_t right) { return (std::uint64_t(left) << 32) | right; }
  std::size_t slotOf(std::uint64_t key) const { return std::size_t((key * 0x9E3779B97F4A7C15ull) >> shift_) & mask_; }
  void put(std::uint64_t key, std::uint32_t rank);

  std::vector<Slot> slots_;
  std::size_t mask_ = 0;
  int shift_ = 0;
  std::vector<std::uint32_t> results_;  // by rank
};

/// Merges pieces; keeps its buffers from one to the next. For one thread.
class Merger {
 public:
  Merger(const Vocabulary& vocabulary, const MergeTable& merges) : vocabulary_(vocabulary), merges_(merges), seen_(kSeen) {}
  /// Appends the ids of `piece`: again and again the pair of lowest rank, the leftmost of equals, becomes one. O(n log n).
  void merge(std::string_view piece, std::vector<TokenId>& out);

 private:
  void mergeNew(std::string_view piece, std::vector<TokenId>& out);
  void mergeShort(std::string_view piece, std::vector<TokenId>& out);
  void mergeLong(std::string_view piece, std::vector<TokenId>& out);

  struct Symbol {
    std::uint32_t id, rank;  // rank: of the merge with the next symbol
    std::uint32_t previous, next;
  };
  // What became of a short piece, when it was last seen: words repeat, and a text's speed is theirs.
  struct Seen {
    static constexpr std::size_t kBytesMax = 15, kIdsMax = 5;
    std::uint64_t key[2] = {0, 0};  // the bytes, and their number in the last; 0 is nothing
    std::uint32_t count = 0;
    std::uint32_t ids[kIdsMax] = {};
  };
  static constexpr std::size_t kSeen = 1024;  // 40 KiB: stays in the first-level caches, and costs a short prompt 2 us

  const Vocabulary& vocabulary_;
  const MergeTable& merges_;
  std::vector<Seen> seen_;
  std::vector<Symbol> symbols_;
  std::vector<std::uint64_t> heap_;  // rank << 32 | index
};

}  // namespace sluice
