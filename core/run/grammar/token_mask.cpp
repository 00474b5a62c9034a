#include "core/run/grammar/token_mask.h"

#include <algorithm>

namespace sluice {

TokenOrder::TokenOrder(std::span<const std::string_view> texts) : vocabulary_(int(texts.size())) {
  for (std::size_t id = 0; id < texts.size(); ++id)
    if (!texts[id].empty()) entries_.push_back({std::string(texts[id]), std::uint32_t(id), 0});
  std::sort(entries_.begin(), entries_.end(), [](const Entry& a, const Entry& b) { return a.text != b.text ? a.text < b.text : a.id < b.id; });
  for (std::size_t i = 1; i < entries_.size(); ++i) {
    const std::string &a = entries_[i - 1].text, &b = entries_[i].text;
    const auto [end, unused] = std::mismatch(a.begin(), a.begin() + std::ptrdiff_t(std::min(a.size(), b.size())), b.begin());
    entries_[i].shared = std::uint32_t(end - a.begin());
  }
}

std::span<const std::uint8_t> TokenMask::allowed(const GrammarState& state) {
  const std::uint64_t key = state.fingerprint();
  if (const auto it = by_state_.find(key); it != by_state_.end()) {
    recent_.splice(recent_.begin(), recent_, it->second);
    return recent_.front().second;
  }
  if (recent_.size() >= kRemembered) {
    by_state_.erase(recent_.back().first);
    recent_.splice(recent_.begin(), recent_, std::prev(recent_.end()));
  } else {
    recent_.emplace_front();
  }
  recent_.front().first = key;
  by_state_[key] = recent_.begin();
  compute(state, recent_.front().second);
  return recent_.front().second;
}

// Walks the vocabulary in byte order: a token starts from the state that its predecessor's shared bytes had reached, and all tokens behind a
// refused prefix are passed over.
void TokenMask::compute(const GrammarState& state, std::vector<std::uint8_t>& allowed) const {
  allowed.assign(std::size_t(order_->vocabulary_), 0);
  std::vector<GrammarState> reached{state};  // reached[n]: after n bytes of the current token
  std::size_t refused = SIZE_MAX;            // bytes of the prefix that was refused last; none: SIZE_MAX
  for (const TokenOrder::Entry& entry : order_->entries_) {
    if (refused != SIZE_MAX && entry.shared >= refused) continue;
    refused = SIZE_MAX;
    reached.erase(reached.begin() + std::ptrdiff_t(std::min<std::size_t>(entry.shared + 1, reached.size())), reached.end());
    while (reached.size() <= entry.text.size()) {
      GrammarState next = reached.back();
      if (!next.accept(std::uint8_t(entry.text[reached.size() - 1]))) {
        refused = reached.size();
        break;
      }
      reached.push_back(std::move(next));
    }
    if (refused == SIZE_MAX) allowed[entry.id] = 1;
  }
}

}  // namespace sluice
