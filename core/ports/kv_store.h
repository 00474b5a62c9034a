#pragma once
// Cached rows of every sequence and layer. Called by core/model and core/run; implemented by kv/. Memory is bought once, in slabs.

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "core/base/ids.h"
#include "core/base/result.h"
#include "core/ports/kernels.h"

namespace sluice {

/// What one layer keeps for every token: `latent_width` values (latent, then rotated key), and `index_width` values of index key
/// (0 where the layer has no indexer).
struct KvLayerShape {
  int latent_width = 0;
  int index_width = 0;
};

enum class KvPart : std::uint8_t { Latent, Index };

class KvStore {
 public:
  virtual ~KvStore() = default;
  /// A new, empty sequence. Errors: OutOfBudget when `sequences_max` are open. Never blocks.
  virtual Result<SequenceId> open() = 0;
  virtual void close(SequenceId sequence) = 0;
  /// Committed tokens.
  virtual int length(SequenceId sequence) const = 0;
  /// Makes room for rows [length, new_length) of every layer; allocates from slabs bought at load. Errors: OutOfBudget (context full).
  virtual Result<Done> reserve(SequenceId sequence, int new_length) = 0;
  /// Where row `position` (reserved, or committed) lies, for writing; its bytes are those of the store's RowFormat.
  virtual std::byte* row(SequenceId sequence, LayerId layer, KvPart part, int position) = 0;
  /// All rows of one layer, for kernels. Valid until reserve, rollback or close of that sequence.
  virtual CachedRows rows(SequenceId sequence, LayerId layer, KvPart part) const = 0;
  /// Sets the committed length: forwards after rows of every layer are written, or back (rollback) to an earlier mark.
  virtual void setLength(SequenceId sequence, int length) = 0;
};

}  // namespace sluice
