#pragma once
// Views carry their shape; shapes are checked once, at a block's door. A view never owns.

#include <cstddef>
#include <span>

#include "core/base/check.h"

namespace sluice {

/// A span indexed by an id type.
template <class Id, class T>
struct IdSpan {
  std::span<T> items;
  T& operator[](Id id) const {
    DCHECK(id.value() < items.size());
    return items[id.value()];
  }
};

/// Row-major [rows, cols] f32; `stride` floats from row to row, stride >= cols.
struct MatView {
  std::span<float> data;
  int rows = 0, cols = 0, stride = 0;
  std::span<float> row(int r) const {
    DCHECK(0 <= r && r < rows);
    return data.subspan(std::size_t(r) * std::size_t(stride), std::size_t(cols));
  }
};

}  // namespace sluice
