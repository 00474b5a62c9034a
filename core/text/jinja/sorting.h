#pragma once
// Python's sorted(): stable, by keys that may refuse to be ordered.

#include <vector>

#include "core/text/jinja/run.h"

namespace sluice::jinja {

struct Keyed {
  std::vector<Value> keys;  // compared one after the other, as Python compares lists
  Value item;
};
/// One key compared as it is, or the keys as a list (equal ones are then never asked for their order).
enum class KeyKind : std::uint8_t { Plain, List };
Result<Done> sortKeyed(Run& run, std::vector<Keyed>& rows, KeyKind kind, bool reverse);
Result<bool> lessByKeys(Run& run, const Keyed& a, const Keyed& b, KeyKind kind);
/// Text in lower case; everything else as it is.
Result<Value> withoutCase(Run& run, const Value& value);

}  // namespace sluice::jinja
