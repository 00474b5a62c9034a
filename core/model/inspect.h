#pragma once
// Facts about a layout for `inspect` and for warnings: which role is stored how, in how many bytes.

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/bytes.h"
#include "core/model/layout.h"

namespace sluice {

/// Calls `visit` for every matrix with its role: embedding, head, attention (q_a, q_b, kv_a), kv_b, o, indexer, dense, shared, router, experts;
/// those of the draft layer behind "mtp.", its eh_proj as "mtp.eh_proj".
void forEachMatrix(const ModelLayout& layout, const std::function<void(std::string_view role, const MatrixLayout&)>& visit);

struct RoleSummary {
  std::string role;    // as above, and "norms" and "mtp.norms" for all vectors
  std::string format;  // "int4-g64", "int8-row", "bf16", "fp8-128x128", ...
  Bytes bytes{0};      // on disk, scales included
};

/// One entry a role and format, roles in the model's order. A head that is tied to the embedding is not counted twice. An int4 matrix no wider
/// than the model's groups has one group a row either way: it is named by those groups.
std::vector<RoleSummary> summariseRoles(const ModelLayout& layout);

/// What the stored formats ought to tell: per_row_int4, mtp_int4, indexer_int4, router_quantised, router_bias_narrow.
std::vector<LayoutWarning> formatWarnings(const ModelLayout& layout);

}  // namespace sluice
