#pragma once
// Reads all weights of a model once, sums them, and compares with the sums that are known. The work behind `sluice verify`.

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "core/base/arena.h"
#include "core/base/result.h"
#include "core/format/matrix_layout.h"
#include "stream/block_device.h"
#include "stream/sums.h"

namespace sluice {

/// A tensor, or a part of one, that is not a routed expert's.
struct ResidentExtent {
  std::string name;
  Extent extent;
};

struct VerifyProgress {
  Bytes done{0}, total{0};
};

/// One thing that could not be read or is not what it was.
struct VerifyFault {
  std::string what;  // "expert 7 of layer 12", or the tensor's name
  std::string file;
  std::uint64_t offset = 0, bytes = 0;  // of its first run
  std::string reason;
};

struct VerifyReport {
  std::vector<VerifyFault> bad;
  Sums sums;  // as read now; worth writing only when nothing is bad
  Bytes bytes_read{0};
};

/// Called between reads, from the calling thread; false stops.
using VerifyCallback = std::function<bool(const VerifyProgress&)>;

/// in      layers as for ExpertStore; `known` may be null: then only what cannot be read is bad. Buffers come from `arena`: verifyBytes().
/// errors  Cancelled (the callback said so); OutOfBudget (the arena is too small); Corrupt (a file was replaced meanwhile)
Result<VerifyReport> verifyModel(std::span<const std::span<const ExpertLayout>> layers, std::span<const ResidentExtent> resident,
                                 std::span<const ModelFile> files, BlockDevice& device, Arena& arena, const Sums* known, const VerifyCallback& callback);

/// What verifyModel() takes from its arena.
Bytes verifyBytes(std::span<const std::span<const ExpertLayout>> layers);

}  // namespace sluice
