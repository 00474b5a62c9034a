#include "core/run/stop_rules.h"

#include <algorithm>

#include <fmt/format.h>

namespace sluice {

Result<Done> checkStopTexts(std::span<const std::string> texts) {
  if (texts.size() > kStopTextsMax)
    return Error{Errc::BadRequest, fmt::format("{} stop strings were given, and {} are the most", texts.size(), kStopTextsMax)};
  for (const std::string& text : texts) {
    if (text.empty()) return Error{Errc::BadRequest, "a stop string is empty: it would end every answer at once; leave it out"};
    if (text.size() > kStopTextBytesMax)
      return Error{Errc::BadRequest, fmt::format("a stop string has {} bytes, and {} are the most", text.size(), kStopTextBytesMax)};
  }
  return Done{};
}

std::vector<TokenId> unionOf(std::span<const TokenId> a, std::span<const TokenId> b) {
  std::vector<TokenId> all(a.begin(), a.end());
  all.insert(all.end(), b.begin(), b.end());
  std::sort(all.begin(), all.end());
  all.erase(std::unique(all.begin(), all.end()), all.end());
  return all;
}

bool StopTexts::push(std::string_view piece, std::string& out) {
  if (texts_.empty()) {
    out += piece;
    return false;
  }
  const std::size_t seen = held_.size();  // no string ends here or before
  held_ += piece;
  for (std::size_t end = seen + 1; end <= held_.size(); ++end) {
    const std::string_view so_far = std::string_view(held_).substr(0, end);
    const std::string* whole = nullptr;
    for (const std::string& text : texts_) {
      if (so_far.ends_with(text) && (whole == nullptr || text.size() > whole->size())) whole = &text;
    }
    if (whole != nullptr) {
      matched_ = *whole;
      out.append(held_, 0, end - whole->size());
      held_.clear();
      return true;
    }
  }
  std::size_t keep = 0;
  for (const std::string& text : texts_) {
    for (std::size_t n = std::min(text.size() - 1, held_.size()); n > keep; --n) {
      if (held_.ends_with(std::string_view(text).substr(0, n))) keep = n;
    }
  }
  out.append(held_, 0, held_.size() - keep);
  held_.erase(0, held_.size() - keep);
  return false;
}

void StopTexts::flush(std::string& out) {
  out += held_;
  held_.clear();
}

}  // namespace sluice
