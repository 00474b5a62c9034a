#pragma once
// The sidecar of sums: XXH3-64 of every expert and every resident tensor of a model, made by `verify --write`, checked as experts
// arrive. One file a model in the state directory; docs/FORMATS.md, part 1.

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/base/file.h"
#include "core/base/report.h"
#include "core/base/result.h"
#include "core/format/matrix_layout.h"

namespace sluice {

/// A sum for each expert, numbered through all layers in order, and for each resident extent in the order the caller lists them.
class Sums {
 public:
  std::uint64_t expert(std::uint32_t key) const { return experts[key]; }
  std::vector<std::uint64_t> experts;
  std::vector<std::uint64_t> resident;
};

}  // namespace sluice
