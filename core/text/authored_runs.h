#pragma once
// Who wrote which bytes of a text.

#include <algorithm>
#include <cstddef>
#include <vector>

namespace sluice {

/// Runs of one author, in order. A value.
class AuthoredRuns {
 public:
  /// The next `bytes` bytes are markup, or are not.
  void append(std::size_t bytes, bool markup) {
    if (bytes == 0) return;
    if (runs_.empty() || runs_.back().markup != markup) runs_.push_back({size(), markup});
    runs_.back().end += bytes;
  }
  std::size_t size() const { return runs_.empty() ? 0 : runs_.back().end; }
  /// True if all of begin..end (not empty) is markup.
  bool allMarkup(std::size_t begin, std::size_t end) const {
    const auto run = runAt(begin);
    return run != runs_.end() && run->markup && end <= run->end;
  }
  bool anyMarkup() const {
    return std::any_of(runs_.begin(), runs_.end(), [](const Run& r) { return r.markup; });
  }
  /// Where the run that holds byte `at` ends; size() at the end.
  std::size_t runEnd(std::size_t at) const {
    const auto run = runAt(at);
    return run == runs_.end() ? size() : run->end;
  }
  bool markupAt(std::size_t at) const {
    const auto run = runAt(at);
    return run != runs_.end() && run->markup;
  }
  void clear() { runs_.clear(); }

 private:
  struct Run {
    std::size_t end;
    bool markup;
  };
  std::vector<Run>::const_iterator runAt(std::size_t at) const {
    return std::upper_bound(runs_.begin(), runs_.end(), at, [](std::size_t value, const Run& r) { return value < r.end; });
  }
  std::vector<Run> runs_;
};

}  // namespace sluice
