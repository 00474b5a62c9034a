#pragma once
// One line of tokens that grows: what the driver drives. A timeline never calls the model: it says which rows it wants and takes what came.

#include <cstdint>
#include <span>

#include "core/base/ids.h"
#include "core/base/result.h"
#include "core/ports/forward.h"

namespace sluice {

/// Which of the planned rows give logits.
enum class RowWants : std::uint8_t { Last, Every };

/// Rows that a timeline wants computed: tokens[i] at position + i. Valid until the next advance().
struct RowPlan {
  std::span<const TokenId> tokens;  // at least one
  int position = 0;
  RowWants wants = RowWants::Last;
  bool hidden = false;  // rows that give logits give the row after the final norm too
};

class Timeline {
 public:
  virtual ~Timeline() = default;
  /// Nothing more is wanted.
  virtual bool done() const = 0;
  /// Somebody asked it to stop. Any thread.
  virtual bool cancelled() const = 0;
  /// Not when done().
  virtual RowPlan plan() const = 0;
  /// The first `rows` of the plan were computed. `output` holds a row for each of them that wanted one: all of them (Every), or one when the whole
  /// plan was computed (Last).
  virtual void advance(int rows, const ForwardOutput& output) = 0;
  /// `rows_done` of the planned rows are computed, in fractions: a forward is under way.
  virtual void progress(double rows_done) = 0;
  /// It cannot go on (Cancelled: because it was asked to stop). done() from here on.
  virtual void fail(const Error& error) = 0;
};

}  // namespace sluice
