#include "cli/resident_sums.h"

#include <algorithm>

#include <fmt/format.h>

#include "core/base/file.h"
#include "core/model/inspect.h"

namespace sluice {

std::vector<ResidentExtent> residentExtents(const ModelLayout& layout) {
  std::vector<ResidentExtent> extents;
  forEachMatrix(layout, [&](std::string_view role, const MatrixLayout& matrix) {
    if (role == "experts" || role == "mtp.experts") return;
    const std::string name = fmt::format("{} (tensor {} of the resident ones)", role, extents.size());
    extents.push_back({name, matrix.data});
    if (matrix.scales.bytes != 0) extents.push_back({name + ", scales", matrix.scales});
  });
  const auto add = [&](const std::string& name, const VectorLayout& vector) {
    if (vector.data.bytes != 0) extents.push_back({name, vector.data});
  };
  const auto add_layer = [&](const std::string& name, const LayerLayout& layer) {
    add(name + " input norm", layer.input_norm);
    add(name + " post norm", layer.post_norm);
    add(name + " q_a norm", layer.attention.q_a_norm);
    add(name + " kv_a norm", layer.attention.kv_a_norm);
    if (layer.attention.indexer) {
      add(name + " indexer norm weight", layer.attention.indexer->k_norm_weight);
      add(name + " indexer norm bias", layer.attention.indexer->k_norm_bias);
    }
    add(name + " router bias", layer.router_bias);
  };
  add("final norm", layout.final_norm);
  for (std::size_t i = 0; i < layout.layers.size(); ++i) add_layer(fmt::format("layer {}", i), layout.layers[i]);
  if (layout.mtp) {
    add("draft layer enorm", layout.mtp->enorm);
    add("draft layer hnorm", layout.mtp->hnorm);
    add("draft layer head norm", layout.mtp->head_norm);
    add_layer("draft layer", layout.mtp->layer);
  }
  return extents;
}

Result<Done> checkResidentSums(const ModelLayout& layout, const Sums& sums, const LoadWatch& watch) {
  const std::vector<ResidentExtent> extents = residentExtents(layout);
  CHECK(sums.resident.size() == extents.size());
  double done = 0, total = 0;
  for (const ResidentExtent& tensor : extents) total += double(tensor.extent.bytes);
  std::vector<OwnedFd> files;
  for (const ModelFile& file : layout.files) files.push_back(TRY(openRead(file.path)));
  std::vector<std::byte> piece(kSumPiece.count());
  for (std::size_t i = 0; i < extents.size(); ++i) {
    const Extent& extent = extents[i].extent;
    const std::filesystem::path& path = layout.files[extent.file].path;
    std::uint64_t sum = 0;
    for (std::uint64_t at = 0; at < extent.bytes; at += piece.size()) {
      if (watch.cancelled && watch.cancelled()) return Error{Errc::Cancelled, "loading was cancelled"};
      const std::span<std::byte> part = std::span(piece).first(std::size_t(std::min<std::uint64_t>(piece.size(), extent.bytes - at)));
      TRY(readExactly(files[extent.file], path, extent.offset + at, part));
      sum = sumBytes(part, sum);
      done += double(part.size());
      if (watch.progress) watch.progress("checking the weights' sums", done, total);
    }
    if (sum != sums.resident[i])
      return Error{Errc::Corrupt, fmt::format("{}: {} bytes at {} of '{}' are not what `verify --write` summed; fetch the file again, or, if the change was meant, run `verify --write` "
                                              "after removing the old sums",
                                              extents[i].name, extent.bytes, extent.offset, path.string())};
  }
  return Done{};
}

}  // namespace sluice
