#include "core/model/inspect.h"

#include <algorithm>

#include <fmt/format.h>

#include "core/format/quant_format.h"

namespace sluice {
namespace {

using Visit = std::function<void(std::string_view, const MatrixLayout&)>;

void visitFfn(const FfnLayout& ffn, std::string_view role, const Visit& visit) {
  for (const MatrixLayout* matrix : {&ffn.gate, &ffn.up, &ffn.down}) visit(role, *matrix);
}

void visitLayer(const LayerLayout& layer, const Visit& visit) {
  const MlaLayout& attention = layer.attention;
  for (const MatrixLayout* matrix : {&attention.q_a, &attention.q_b, &attention.kv_a}) visit("attention", *matrix);
  visit("kv_b", attention.kv_b);
  visit("o", attention.o);
  if (attention.indexer)
    for (const MatrixLayout* matrix : {&attention.indexer->wq_b, &attention.indexer->wk, &attention.indexer->weights_proj}) visit("indexer", *matrix);
  if (layer.dense) {
    visitFfn(*layer.dense, "dense", visit);
    return;
  }
  visit("router", layer.router);
  if (layer.shared) visitFfn(*layer.shared, "shared", visit);
  for (const ExpertLayout& expert : layer.experts)
    for (const MatrixLayout* matrix : {&expert.gate, &expert.up, &expert.down}) visit("experts", *matrix);
}

std::vector<const VectorLayout*> vectorsOf(const LayerLayout& layer) {
  std::vector<const VectorLayout*> out = {&layer.input_norm, &layer.post_norm, &layer.attention.q_a_norm, &layer.attention.kv_a_norm};
  if (layer.attention.indexer) out.insert(out.end(), {&layer.attention.indexer->k_norm_weight, &layer.attention.indexer->k_norm_bias});
  if (!layer.dense) out.push_back(&layer.router_bias);
  return out;
}

/// The widest group of int4 matrices that have more than one a row; 0 when none has.
int int4Group(const ModelLayout& layout) {
  int group = 0;
  forEachMatrix(layout, [&](std::string_view, const MatrixLayout& matrix) {
    if (matrix.format == WeightFormat::Int4 && matrix.group < matrix.cols) group = std::max(group, matrix.group);
  });
  return group;
}

class Summary {
 public:
  void add(const std::string& role, const std::string& format, Bytes bytes) {
    const auto same = std::find_if(rows_.begin(), rows_.end(), [&](const RoleSummary& row) { return row.role == role && row.format == format; });
    if (same != rows_.end()) {
      same->bytes += bytes;
      return;
    }
    // Beside the role's other formats, so that roles stay together.
    const auto last = std::find_if(rows_.rbegin(), rows_.rend(), [&](const RoleSummary& row) { return row.role == role; });
    rows_.insert(last == rows_.rend() ? rows_.end() : last.base(), RoleSummary{role, format, bytes});
  }
  std::vector<RoleSummary> take() { return std::move(rows_); }

 private:
  std::vector<RoleSummary> rows_;
};

}  // namespace

void forEachMatrix(const ModelLayout& layout, const Visit& visit) {
  visit("embedding", layout.embedding);
  visit("head", layout.head);
  for (const LayerLayout& layer : layout.layers) visitLayer(layer, visit);
  if (!layout.mtp) return;
  visit("mtp.eh_proj", layout.mtp->eh_proj);
  visitLayer(layout.mtp->layer, [&](std::string_view role, const MatrixLayout& matrix) { visit(fmt::format("mtp.{}", role), matrix); });
}

std::vector<RoleSummary> summariseRoles(const ModelLayout& layout) {
  Summary summary;
  const int group = int4Group(layout);
  const bool tied = layout.head.data.file == layout.embedding.data.file && layout.head.data.offset == layout.embedding.data.offset;
  forEachMatrix(layout, [&](std::string_view role, const MatrixLayout& matrix) {
    const bool narrow = matrix.format == WeightFormat::Int4 && matrix.group >= matrix.cols && matrix.cols <= group;
    summary.add(std::string(role), narrow ? fmt::format("int4-g{}", group) : formatName(matrix), role == "head" && tied ? Bytes(0) : bytesOf(matrix));
  });
  const auto add_vectors = [&](const char* role, const std::vector<const VectorLayout*>& vectors) {
    for (const VectorLayout* vector : vectors) summary.add(role, formatName(*vector), Bytes(vector->data.bytes));
  };
  add_vectors("norms", {&layout.final_norm});
  for (const LayerLayout& layer : layout.layers) add_vectors("norms", vectorsOf(layer));
  if (layout.mtp) {
    add_vectors("mtp.norms", {&layout.mtp->enorm, &layout.mtp->hnorm, &layout.mtp->head_norm});
    add_vectors("mtp.norms", vectorsOf(layout.mtp->layer));
  }
  return summary.take();
}

std::vector<LayoutWarning> formatWarnings(const ModelLayout& layout) {
  // One scale over 64 columns or fewer is as fine as the containers that are recommended.
  const int group = std::max(int4Group(layout), 64);
  std::size_t per_row = 0, mtp_int4 = 0, indexer_int4 = 0, router_codes = 0;
  int widest = 0;
  forEachMatrix(layout, [&](std::string_view role, const MatrixLayout& matrix) {
    const bool narrow_codes = isInteger(matrix.format) && matrix.format != WeightFormat::Int8;
    if (matrix.format == WeightFormat::Int4 && matrix.group >= matrix.cols && matrix.cols > group) {
      ++per_row;
      widest = std::max(widest, matrix.cols);
    }
    if (narrow_codes && role.starts_with("mtp.")) ++mtp_int4;
    if (narrow_codes && role.ends_with("indexer")) ++indexer_int4;
    if (isInteger(matrix.format) && role.ends_with("router")) ++router_codes;
  });
  std::size_t narrow_biases = 0;
  const auto count_bias = [&](const LayerLayout& layer) {
    if (!layer.dense && layer.router_bias.format != WeightFormat::F32) ++narrow_biases;
  };
  for (const LayerLayout& layer : layout.layers) count_bias(layer);
  if (layout.mtp) count_bias(layout.mtp->layer);
  std::vector<LayoutWarning> out;
  if (per_row != 0)
    out.push_back({"per_row_int4", fmt::format("{} matrices are int4 with one scale a row, up to {} columns wide: outlier channels lose their neighbours, and answers get worse; "
                                               "prefer a container with groups of 64",
                                               per_row, widest)});
  if (mtp_int4 != 0)
    out.push_back({"mtp_int4", fmt::format("{} matrices of the draft layer are int4 or narrower: expect few drafts to be accepted; prefer an int8 draft layer", mtp_int4)});
  if (indexer_int4 != 0)
    out.push_back({"indexer_int4", fmt::format("{} matrices of the indexers are int4 or narrower: beyond {} tokens other positions may be chosen than by the published model",
                                               indexer_int4, layout.config.indexer.top_k)});
  if (router_codes != 0)
    out.push_back({"router_quantised", fmt::format("{} routers are stored as integers: other experts may be chosen than by the published model", router_codes)});
  if (narrow_biases != 0)
    out.push_back({"router_bias_narrow", fmt::format("{} router biases are stored in 16 bits, too few to keep their order: other experts may be chosen", narrow_biases)});
  return out;
}

}  // namespace sluice
