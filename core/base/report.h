#pragma once
// What a library has to say to its user besides its result. Libraries fill a Report; commands print it.

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace sluice {

struct Warning {
  std::string code;  // stable: `direct_refused`, `uring_refused`, `sums_ignored`, ...
  std::string text;  // one sentence: which thing, the reason, and the cure if there is one
};

struct Report {
  std::vector<Warning> warnings;
  /// Adds a warning unless one of this code is there: the first of a kind is news, the rest is noise.
  void warnOnce(std::string_view code, std::string text) {
    const bool known = std::any_of(warnings.begin(), warnings.end(), [&](const Warning& w) { return w.code == code; });
    if (!known) warnings.push_back({std::string(code), std::move(text)});
  }
};

}  // namespace sluice
