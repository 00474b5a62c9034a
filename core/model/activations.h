#pragma once
// The scratch of a forward, bought once at load: nothing on the token path allocates. Attention and FFNs work through the rows in tiles, so
// that wide intermediates (GLM-5.2: 0.3 MB a row of absorbed queries and latents) are paid for a tile, not for a prompt.

#include <cstddef>
#include <cstdint>

#include "core/base/ids.h"
#include "core/base/views.h"
#include "core/model/carver.h"
#include "core/model/config.h"
#include "core/model/numerics.h"
#include "core/model/product.h"

namespace sluice {

// Rows of one tile. Sixty-four rows read each weight once for 64 uses, which is past the point where a core's arithmetic is the limit.
constexpr int kTileRows = 64;

/// Rows of f32, each 64-aligned, found by pointer.
struct FloatRows {
  float** rows = nullptr;
  int cols = 0, count = 0;
  float* operator[](int r) const { return rows[r]; }
};

/// Rows that feed products: f32 and their codes.
struct ActivationRows {
  FloatRows values;
  std::byte** codes = nullptr;
  ProductInput input(int begin, int count) const { return {values.rows + begin, codes + begin, count}; }
};

struct ActivationShape {
  int rows_max = 0;    // rows of one forward
  int logits_max = 0;  // of them, rows that may want logits
  int context = 0;     // tokens of one sequence
  int threads = 1;
};

/// One member's own scratch.
struct MemberScratch {
  float* attention_scores = nullptr;      // [heads, scores_stride]
  float* index_scores = nullptr;          // [context]
  std::uint64_t* index_keys = nullptr;    // [context]
  const float** inputs = nullptr;         // [kTileRows]
  const std::byte** codes = nullptr;      // [kTileRows]
  float** outputs = nullptr;              // [kTileRows]
  bool finite = true;                     // cleared by whoever sees NaN or infinity
};

struct Activations {
  // Of a whole forward, [rows_max].
  FloatRows hidden;                 // the residual stream
  ActivationRows ffn_in;            // [hidden]: normed input of a sparse FFN
  FloatRows cosines, sines;         // rotation of each row's position
  FloatRows moe_sum;                // shared expert plus routed experts
  std::int32_t* index_sets = nullptr;    // [rows_max, top_k]: chosen positions, ascending
  int* index_counts = nullptr;           // [rows_max]: chosen; 0: every position up to the row's own
  FloatRows router_scores;               // [rows_max][experts]
  ExpertId* routed_ids = nullptr;        // [rows_max, k], ascending in a row
  float* routed_weights = nullptr;       // [rows_max, k]
  float* routed_margins = nullptr;       // [rows_max]
  int* routed_places = nullptr;          // [rows_max, k]: where in pair_rows
  int* pair_rows = nullptr;              // [rows_max * k]: rows, by expert, ascending in each
  int* expert_begins = nullptr;          // [experts + 1]: first of an expert in pair_rows
  ExpertId* experts_used = nullptr;      // [experts]
  FloatRows expert_out;                  // [pairs_max][hidden]: outputs of a wave, in the order of pair_rows
  int pairs_max = 0;

  // Of one tile, [tile_rows].
  int tile_rows = 0;
  ActivationRows attention_in;      // [hidden]: normed input of attention, or of a dense FFN
  ActivationRows query_latent;      // [q_lora_rank], normed in place
  FloatRows kv_latent;              // [kv_lora_rank + rope]
  FloatRows query;                  // [heads * (nope + rope)]
  FloatRows query_absorbed;         // [heads * (kv_lora_rank + rope)]
  ActivationRows latent_out;        // [tile_rows * heads][kv_lora_rank], row-major without gaps: attention's output
  ActivationRows attention_values;  // [heads * v]
  FloatRows index_key;              // [index width]
  FloatRows index_query;            // [index heads * width]
  FloatRows index_weights;          // [index heads]
  ActivationRows ffn_gate;          // [inter]
  FloatRows ffn_up;
  FloatRows block_out;              // [hidden]: what attention or an FFN adds to the stream

  FloatRows logits;                 // [logits_max], one after the other
  MemberScratch* members = nullptr; // [threads]
  int scores_stride = 0;

  /// Cuts everything from `memory`; with a counting carver nothing may be used but memory.used().
  Activations(const ModelConfig& config, const Numerics& numerics, const ActivationShape& shape, Carver& memory);

  void forgetFaults(int threads) const {
    for (int n = 0; n < threads; ++n) members[n].finite = true;
  }
  bool sawFault(int threads) const {
    for (int n = 0; n < threads; ++n)
      if (!members[n].finite) return true;
    return false;
  }
};

/// What an Activations of this shape takes.
Bytes activationBytes(const ModelConfig& config, const Numerics& numerics, const ActivationShape& shape);

}  // namespace sluice
