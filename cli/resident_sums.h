#pragma once
// What the sums of `verify` cover beside the routed experts, and the check of it at load.

#include <vector>

#include "cli/loaded_model.h"
#include "core/model/layout.h"
#include "stream/sums.h"
#include "stream/verify.h"

namespace sluice {

/// Every run of bytes that is no routed expert's, named, in one fixed order.
std::vector<ResidentExtent> residentExtents(const ModelLayout& layout);

/// Reads them all and compares with `sums`, which are of this model.
/// errors  Corrupt (names the tensor, the file and the offset), Io, Cancelled
Result<Done> checkResidentSums(const ModelLayout& layout, const Sums& sums, const LoadWatch& watch);

}  // namespace sluice
