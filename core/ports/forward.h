#pragma once
// rows in, logits out. Called by core/run/driver, and by nothing else; implemented by core/model/decoder and by the scripted model of
// the tests.

#include <span>

#include "core/base/ids.h"
#include "core/base/result.h"
#include "core/base/views.h"

namespace sluice {

/// One token to compute. Rows of one sequence come in ascending, gap-free positions that continue its committed length.
struct ForwardRow {
  SequenceId sequence;
  int position = 0;
  TokenId token;
  bool wants_logits = false;
  bool wants_hidden = false;  // the row after the final norm
};

/// Asked between layers and between experts of a long forward. May be called often; must be quick; never blocks.
class ForwardWatch {
 public:
  virtual ~ForwardWatch() = default;
  /// `done` of `total` units of work (layers times rows).
  virtual void progress(double done, double total) = 0;
  virtual bool cancelled() const = 0;
};

/// Valid until the next forward(). Row i of `logits` belongs to the i-th row that wanted logits; the same for `hidden`.
struct ForwardOutput {
  MatView logits;  // [wanted, vocabulary]
  MatView hidden;  // [wanted, hidden]
};

struct ForwardFacts {
  int vocabulary = 0;
  int context = 0;     // tokens a sequence may hold
  int rows_max = 0;    // rows of one forward
  int logits_max = 0;  // of them, rows that may want logits; 0: all (a vocabulary of 154,880 makes 0.6 MB a row)
};

class Forward {
 public:
  virtual ~Forward() = default;
  virtual const ForwardFacts& facts() const = 0;
  virtual Result<SequenceId> open() = 0;
  virtual void close(SequenceId sequence) = 0;
  /// Forgets rows from `length` on.
  virtual void rollback(SequenceId sequence, int length) = 0;
  /// Computes rows (1 .. rows_max, any mix of sequences) and commits them to the KV store. On error nothing is committed.
  /// Errors: Io, Corrupt (weights), Numeric (names the layer), Cancelled (by `watch`), OutOfBudget (context full), BadRequest (no rows, more
  /// than rows_max or logits_max, a token outside the vocabulary). `watch` may be null.
  virtual Result<ForwardOutput> forward(std::span<const ForwardRow> rows, ForwardWatch* watch) = 0;
};

}  // namespace sluice
