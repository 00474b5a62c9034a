#include "core/text/bpe.h"

#include <algorithm>
#include <array>
#include <bit>
#include <functional>

#include <fmt/format.h>

namespace sluice {
namespace {

// Below this many bytes a scan of all ranks for each merge is cheaper than a heap (measured: equal at about 100).
constexpr std::size_t kShortMax = 64;

// The two parts of one merge; `here` makes its node, for errors.
template <class Here>
Result<std::pair<std::string_view, std::string_view>> partsOf(simdjson::dom::element merge, const Here& here) {
  simdjson::dom::array array;
  std::string_view text, left, right;
  if (merge.get(text) == simdjson::SUCCESS) {
    const std::size_t space = text.find(' ');
    if (space == std::string_view::npos) return here().corrupt(fmt::format("the merge '{}' has no space between two parts", text));
    if (text.find(' ', space + 1) != std::string_view::npos) return here().corrupt(fmt::format("the merge '{}' has more than two parts", text));
    return std::pair(text.substr(0, space), text.substr(space + 1));
  }
  if (merge.get(array) != simdjson::SUCCESS) return here().corrupt(fmt::format("{} where a merge must be", kindOf(merge)));
  if (array.size() != 2) return here().corrupt(fmt::format("a merge of {} parts, it must have 2", array.size()));
  if (array.at(0).get(left) != simdjson::SUCCESS || array.at(1).get(right) != simdjson::SUCCESS) return here().corrupt("the parts of a merge must be strings");
  return std::pair(left, right);
}

}  // namespace

Result<MergeTable> MergeTable::read(const JsonNode& merges, const Vocabulary::Spellings& spellings, const std::vector<bool>& may_not_result,
                                    std::vector<std::string>& warnings) {
  simdjson::dom::array array;
  if (merges.raw().get(array) != simdjson::SUCCESS) return merges.corrupt(fmt::format("{} where an array of merges must be", kindOf(merges.raw())));
  std::size_t count = 0;
  for ([[maybe_unused]] const simdjson::dom::element e : array) ++count;  // size() saturates
  MergeTable table;
  const std::size_t slots = std::bit_ceil(2 * count + 2);
  table.slots_.assign(slots, Slot());
  table.mask_ = slots - 1;
  table.shift_ = 64 - std::countr_zero(slots);
  table.results_.reserve(count);
  std::size_t repeated = 0;
  std::string joined;
  for (const simdjson::dom::element e : array) {
    const auto rank = std::uint32_t(table.results_.size());
    const auto here = [&] { return merges.sibling(e, fmt::format("{}[{}]", merges.place(), rank)); };
    const auto [left, right] = TRY(partsOf(e, here));
    const auto l = spellings.find(left), r = spellings.find(right);
    if (l == spellings.end() || r == spellings.end()) return here().corrupt(fmt::format("the vocabulary has no '{}'", l == spellings.end() ? left : right));
    joined.assign(left).append(right);
    const auto whole = spellings.find(joined);
    if (whole == spellings.end()) return here().corrupt(fmt::format("'{}' and '{}' become '{}', which the vocabulary lacks", left, right, joined));
    table.results_.push_back(whole->second.value());
    if (whole->second.value() < may_not_result.size() && may_not_result[whole->second.value()]) continue;
    const std::uint64_t key = keyOf(l->second.value(), r->second.value());
    if (table.rank(l->second.value(), r->second.value()) != kNone) ++repeated;
    table.put(key, rank);
  }
  if (repeated > 0) warnings.push_back(merges.corrupt(fmt::format("{} pairs are there more than once; the last of each counts", repeated)).what);
  return table;
}

void MergeTable::put(std::uint64_t key, std::uint32_t rank) {
  std::size_t slot = slotOf(key);
  while (slots_[slot].key != kEmpty && slots_[slot].key != key) slot = (slot + 1) & mask_;
  slots_[slot] = {key, rank};
}

void Merger::merge(std::string_view piece, std::vector<TokenId>& out) {
  if (piece.empty() || piece.size() > Seen::kBytesMax) return mergeNew(piece, out);
  std::array<char, 16> padded{};
  std::copy(piece.begin(), piece.end(), padded.begin());
  padded[15] = char(piece.size());
  const auto key = std::bit_cast<std::array<std::uint64_t, 2>>(padded);
  Seen& seen = seen_[((key[0] * 0x9E3779B97F4A7C15ull) ^ (key[1] * 0xC2B2AE3D27D4EB4Full)) >> (64 - std::countr_zero(kSeen))];
  if (seen.key[0] == key[0] && seen.key[1] == key[1]) {
    for (std::uint32_t i = 0; i < seen.count; ++i) out.push_back(TokenId(seen.ids[i]));
    return;
  }
  const std::size_t before = out.size();
  mergeNew(piece, out);
  const std::size_t count = out.size() - before;
  if (count > Seen::kIdsMax) return;
  seen.key[0] = key[0];
  seen.key[1] = key[1];
  seen.count = std::uint32_t(count);
  for (std::size_t i = 0; i < count; ++i) seen.ids[i] = out[before + i].value();
}

void Merger::mergeNew(std::string_view piece, std::vector<TokenId>& out) {
  if (piece.size() <= kShortMax) mergeShort(piece, out);
  else mergeLong(piece, out);
}

void Merger::mergeShort(std::string_view piece, std::vector<TokenId>& out) {
  std::array<std::uint32_t, kShortMax + 1> id, rank;
  std::size_t count = piece.size();
  for (std::size_t i = 0; i < count; ++i) id[i] = vocabulary_.byteToken(static_cast<unsigned char>(piece[i])).value();
  for (std::size_t i = 0; i + 1 < count; ++i) rank[i] = merges_.rank(id[i], id[i + 1]);
  while (count > 1) {
    const std::size_t best = std::size_t(std::min_element(rank.begin(), rank.begin() + std::ptrdiff_t(count - 1)) - rank.begin());
    if (rank[best] == MergeTable::kNone) break;
    id[best] = merges_.result(rank[best]);
    std::copy(id.begin() + std::ptrdiff_t(best + 2), id.begin() + std::ptrdiff_t(count), id.begin() + std::ptrdiff_t(best + 1));
    if (best + 2 < count) std::copy(rank.begin() + std::ptrdiff_t(best + 2), rank.begin() + std::ptrdiff_t(count - 1), rank.begin() + std::ptrdiff_t(best + 1));
    --count;
    if (best + 1 < count) rank[best] = merges_.rank(id[best], id[best + 1]);
    if (best > 0) rank[best - 1] = merges_.rank(id[best - 1], id[best]);
  }
  for (std::size_t i = 0; i < count; ++i) out.push_back(TokenId(id[i]));
}

void Merger::mergeLong(std::string_view piece, std::vector<TokenId>& out) {
  constexpr std::uint32_t kEnd = 0xFFFFFFFF;
  const auto count = std::uint32_t(piece.size());
  symbols_.resize(count);
  heap_.clear();
  for (std::uint32_t i = 0; i < count; ++i)
    symbols_[i] = {vocabulary_.byteToken(static_cast<unsigned char>(piece[i])).value(), MergeTable::kNone, i - 1, i + 1 < count ? i + 1 : kEnd};
  const auto entry = [&](std::uint32_t i) { return (std::uint64_t(symbols_[i].rank) << 32) | i; };
  const auto rerank = [&](std::uint32_t i) {
    Symbol& s = symbols_[i];
    s.rank = s.next == kEnd ? MergeTable::kNone : merges_.rank(s.id, symbols_[s.next].id);
    return s.rank != MergeTable::kNone;
  };
  for (std::uint32_t i = 0; i < count; ++i)
    if (rerank(i)) heap_.push_back(entry(i));
  std::make_heap(heap_.begin(), heap_.end(), std::greater<>());
  while (!heap_.empty()) {
    std::pop_heap(heap_.begin(), heap_.end(), std::greater<>());
    const std::uint64_t top = heap_.back();
    heap_.pop_back();
    const auto i = std::uint32_t(top);
    Symbol& s = symbols_[i];
    if (s.rank != std::uint32_t(top >> 32)) continue;  // the pair has changed, or the symbol is gone
    s.id = merges_.result(s.rank);
    Symbol& eaten = symbols_[s.next];
    eaten.rank = MergeTable::kNone;
    s.next = eaten.next;
    if (s.next != kEnd) symbols_[s.next].previous = i;
    for (const std::uint32_t changed : {i, s.previous})
      if (changed != kEnd && rerank(changed)) {
        heap_.push_back(entry(changed));
        std::push_heap(heap_.begin(), heap_.end(), std::greater<>());
      }
  }
  for (std::uint32_t i = 0; i != kEnd; i = symbols_[i].next) out.push_back(TokenId(symbols_[i].id));
}

}  // namespace sluice
