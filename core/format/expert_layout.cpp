#include "core/format/expert_layout.h"

namespace sluice {

bool expertsAreFused(const TensorDirectory& directory, const ExpertNames& names) {
  return directory.find(names.fusedGateUp()) != nullptr || directory.find(names.fusedDown()) != nullptr;
}

Result<std::vector<ExpertLayout>> fusedExperts(const TensorDirectory& directory, const ExpertNames& names, int experts, int inter, int hidden) {
  std::vector<ExpertLayout> out;
  out.reserve(std::size_t(experts));
  for (int expert = 0; expert < experts; ++expert) {
    const MatrixLayout both = TRY(stackedMatrixLayout(directory, names.fusedGateUp(), experts, 2 * inter, hidden, expert));
    ExpertLayout layout;
    layout.gate = TRY(rowsOf(both, 0, inter, names.fusedGateUp()));
    layout.up = TRY(rowsOf(both, inter, inter, names.fusedGateUp()));
    layout.down = TRY(stackedMatrixLayout(directory, names.fusedDown(), experts, hidden, inter, expert));
    out.push_back(layout);
  }
  return out;
}

}  // namespace sluice
