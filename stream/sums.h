#pragma once
// The sidecar of sums: one 64-bit sum for every expert and every resident tensor of a model, made by `verify --write`, checked as experts
// arrive. One file a model in the state directory; docs/FORMATS.md, part 1.

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "core/base/file.h"
#include "core/base/report.h"
#include "core/base/result.h"
#include "core/format/matrix_layout.h"

namespace sluice {

constexpr std::array<char, 8> kSumsMagic{'S', 'L', 'C', 'S', 'U', 'M', 'S', '\0'};
constexpr std::uint32_t kSumsVersion = 1;

struct SumsHeader {
  std::array<char, 8> magic;
  std::uint32_t version, files, experts, resident;
  std::uint64_t body_xxh3;  // of all that follows
};
static_assert(sizeof(SumsHeader) == 32 && std::is_trivially_copyable_v<SumsHeader>);

/// Behind the header, `files` times; then `experts` and `resident` sums of 8 bytes.
struct SumsFile {
  std::uint64_t size;
  std::uint64_t name_xxh3;  // of the file's name without its directory
};
static_assert(sizeof(SumsFile) == 16 && std::is_trivially_copyable_v<SumsFile>);
static_assert(std::endian::native == std::endian::little, "the format is little-endian, and so are we");

struct Sums {
  std::vector<std::uint64_t> experts;   // of each expert, through all layers in order
  std::vector<std::uint64_t> resident;  // of each other tensor, in the order that the caller lists them
};

/// Long runs are summed in pieces of this size, so that a tensor of a gigabyte needs no buffer of its size.
constexpr Bytes kSumPiece = 16_MiB;

/// The sum of `bytes`, going on from `before` (0 at first): XXH3-64 of each piece, seeded by the sum so far.
std::uint64_t sumBytes(std::span<const std::byte> bytes, std::uint64_t before);

/// Where the sums of the model in `model_directory` lie: NAME-HASH.sums, the hash over the directory's absolute path.
std::filesystem::path sumsPath(const std::filesystem::path& state_directory, const std::filesystem::path& model_directory);

/// Writes through the one door. The directory must exist.
Result<Done> writeSums(FileSteps& steps, const std::filesystem::path& path, std::span<const ModelFile> files, const Sums& sums);

/// The sums at `path` if they are whole and of this model: the same files by name and size, as many experts and resident tensors. Nothing when there
/// are none; anything else there is ignored, and `report` says so (sums_ignored).
std::optional<Sums> loadSums(const std::filesystem::path& path, std::span<const ModelFile> files, std::size_t experts, std::size_t resident,
                             Report& report);

}  // namespace sluice
