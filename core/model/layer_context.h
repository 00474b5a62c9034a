#pragma once
// What every block of a layer works with. Owned by the decoder (and, for the draft layer, by the drafter); blocks keep nothing.

#include <algorithm>
#include <span>

#include "core/base/parallel.h"
#include "core/model/activations.h"
#include "core/model/config.h"
#include "core/model/layer_tap.h"
#include "core/model/numerics.h"
#include "core/ports/expert_source.h"
#include "core/ports/forward.h"
#include "core/ports/kv_store.h"

namespace sluice {

struct LayerContext {
  const ModelConfig* config = nullptr;
  Numerics numerics;
  Team* team = nullptr;
  KvStore* kv = nullptr;
  ExpertSource* experts = nullptr;
  Activations* scratch = nullptr;
  LayerTap* tap = nullptr;        // may be null
  ForwardWatch* watch = nullptr;  // may be null
};

inline bool cancelled(const LayerContext& ctx) { return ctx.watch != nullptr && ctx.watch->cancelled(); }

/// Rows [begin, begin + rows.size()) of the forward.
struct Tile {
  int begin = 0;
  std::span<const ForwardRow> rows;
  int count() const { return int(rows.size()); }
};

/// The n-th tile of a forward's rows.
inline Tile tileAt(const LayerContext& ctx, std::span<const ForwardRow> rows, int begin) {
  const std::size_t left = rows.size() - std::size_t(begin);
  return {begin, rows.subspan(std::size_t(begin), std::min(left, std::size_t(ctx.scratch->tile_rows)))};
}

}  // namespace sluice
