#include "core/text/jinja/sorting.h"

#include <algorithm>

#include "core/text/jinja/strings.h"

namespace sluice::jinja {

Result<bool> lessByKeys(Run& run, const Keyed& a, const Keyed& b, KeyKind kind) {
  if (kind == KeyKind::Plain) return run.compare(Comparison::Less, a.keys[0], b.keys[0]);
  for (std::size_t i = 0; i < a.keys.size(); ++i) {
    if (TRY(run.compare(Comparison::Equal, a.keys[i], b.keys[i]))) continue;
    return run.compare(Comparison::Less, a.keys[i], b.keys[i]);
  }
  return false;
}

Result<Done> sortKeyed(Run& run, std::vector<Keyed>& rows, KeyKind kind, bool reverse) {
  // A merge sort of our own: comparisons can fail, and need not be consistent.
  if (reverse) std::reverse(rows.begin(), rows.end());
  std::vector<Keyed> other(rows.size());
  for (std::size_t width = 1; width < rows.size(); width *= 2) {
    for (std::size_t from = 0; from < rows.size(); from += 2 * width) {
      const std::size_t middle = std::min(from + width, rows.size()), end = std::min(from + 2 * width, rows.size());
      std::size_t left = from, right = middle;
      for (std::size_t at = from; at < end; ++at) {
        const bool take_right = left == middle || (right < end && TRY(lessByKeys(run, rows[right], rows[left], kind)));
        other[at] = std::move(rows[take_right ? right++ : left++]);
      }
    }
    rows.swap(other);
  }
  if (reverse) std::reverse(rows.begin(), rows.end());
  return Done{};
}

Result<Value> withoutCase(Run& run, const Value& value) {
  if (!value.isString()) return value;
  TRY(run.touch(value.text().size() * 16));
  return run.string(inCase(value.text(), Case::Lower));
}

}  // namespace sluice::jinja
