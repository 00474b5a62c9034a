#pragma once
// The weights that stay in memory: everything but the routed experts, read once at load. Matrices keep their own format; norms, biases and
// scales are f32.

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "core/base/arena.h"
#include "core/base/result.h"
#include "core/model/layout.h"
#include "core/ports/forward.h"
#include "core/ports/kernels.h"

namespace sluice {

using VectorView = std::span<const float>;

struct IndexerWeights {
  WeightMatrix wq_b, wk, weights_proj;
  VectorView k_norm_weight, k_norm_bias;
};

struct MlaWeights {
  WeightMatrix q_a, q_b, kv_a, o;
  // kv_b cut in two at load, as the absorbed form uses it: [heads * nope, latent] and [heads * v, latent].
  WeightMatrix w_k, w_v;
  VectorView q_a_norm, kv_a_norm;
  std::optional<IndexerWeights> indexer;
};

struct FfnWeights {
  WeightMatrix gate, up, down;
};

struct LayerWeights {
  VectorView input_norm, post_norm;
  MlaWeights attention;
  std::optional<FfnWeights> dense;
  WeightMatrix router;  // from here on: FfnKind::Sparse
  VectorView router_bias;
  std::optional<FfnWeights> shared;
  bool experts_integer = false;  // some matrix of some routed expert has integer weights
};

struct MtpWeights {
  VectorView enorm, hnorm, head_norm;
  WeightMatrix eh_proj;
  LayerWeights layer;
};

/// Views into one block of the arena it was loaded into, which must outlive it.
struct ResidentWeights {
  WeightMatrix embedding, head;
  VectorView final_norm;
  std::vector<LayerWeights> layers;
  std::optional<MtpWeights> mtp;

  /// What load() takes. Reads nothing.
  static Bytes bytesFor(const ModelLayout& layout);
  /// Reads all resident tensors into `arena`, under the name "weights", by a few threads, in file order. `watch` may be null; it is called on the
  /// caller's thread alone, with bytes.
  /// errors  OutOfBudget, NotFound, Io, Corrupt (a file changed since its header was read), Numeric (a norm, bias or scale that is not finite), Cancelled
  static Result<ResidentWeights> load(const ModelLayout& layout, Arena& arena, ForwardWatch* watch);
};

}  // namespace sluice
