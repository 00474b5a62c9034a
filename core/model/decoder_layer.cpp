#include "core/model/decoder_layer.h"

#include <fmt/format.h>

#include "core/model/attention_mla.h"
#include "core/model/dense_ffn.h"
#include "core/model/moe.h"

namespace sluice {

namespace {

Result<Done> checkFinite(const LayerContext& ctx, LayerId layer, const char* half) {
  if (!ctx.scratch->sawFault(ctx.team->size())) return Done{};
  return Error{Errc::Numeric, fmt::format("layer {} ({}) made a value that is NaN or infinite: the weights of that layer are damaged or of a format that was "
                                          "misread; `sluice verify` finds damaged files", layer.value(), half)};
}

}  // namespace

Result<Done> runLayer(const LayerContext& ctx, const LayerWeights& w, const LayerConfig& config, LayerId layer, std::span<const ForwardRow> rows) {
  const Activations& s = *ctx.scratch;
  s.forgetFaults(ctx.team->size());
  const int count = int(rows.size());
  for (int begin = 0; begin < count; begin += s.tile_rows) {
    if (cancelled(ctx)) return Error{Errc::Cancelled, fmt::format("cancelled in layer {}", layer.value())};
    switch (config.attention) {
      case AttentionKind::Mla: runMla(ctx, w, config.indexer, layer, tileAt(ctx, rows, begin)); break;
    }
  }
  TRY(checkFinite(ctx, layer, "attention"));
  switch (config.ffn) {
    case FfnKind::Dense:
      for (int begin = 0; begin < count; begin += s.tile_rows) runDenseFfn(ctx, w, tileAt(ctx, rows, begin));
      break;
    case FfnKind::Sparse: TRY(runMoe(ctx, w, layer, rows)); break;
  }
  TRY(checkFinite(ctx, layer, config.ffn == FfnKind::Dense ? "feed-forward" : "experts"));
  if (ctx.tap != nullptr)
    for (int r = 0; r < count; ++r) ctx.tap->hidden(layer, r, {s.hidden[r], std::size_t(ctx.config->hidden)});
  return Done{};
}

}  // namespace sluice
