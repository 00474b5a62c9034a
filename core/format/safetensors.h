#pragma once
// The header of one safetensors file: u64 little-endian length, JSON, data. Everything that it says is proved here, before anyone
// believes an offset.

#include <array>
#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/bytes.h"
#include "core/base/result.h"
#include "core/format/matrix_layout.h"

namespace sluice {

enum class Dtype : std::uint8_t { F32, Bf16, F16, Fp8E4m3, E8m0, U8, I8, I64, Other };

/// Bytes of one element; 0 for Other, whose size is nobody's business until somebody needs the tensor.
std::uint64_t dtypeBytes(Dtype dtype);

constexpr int kTensorRankMax = 8;
constexpr Bytes kHeaderBytesMax = 512_MiB;
constexpr std::size_t kStampsMax = 4096;

struct TensorEntry {
  std::string name;
  std::string dtype_name;  // as written in the file
  Dtype dtype = Dtype::Other;
  int rank = 0;
  std::array<std::uint64_t, kTensorRankMax> shape{};
  Extent data;             // offset from the file's first byte; file is 0 until a TensorDirectory numbers it
};

/// "[5, 72]".
std::string shapeText(const TensorEntry& entry);

struct SafetensorsHeader {
  std::vector<TensorEntry> tensors;            // ascending offsets
  std::map<std::string, std::string> stamps;   // __metadata__["colibri.fmt"]: tensor name -> format name
};

/// Reads a header's JSON. `json` is the text alone; the data begins at `data_begin` and must end exactly at `file_size`. `file` is for messages.
/// Proved: every tensor lies inside the data, begin <= end, tensors cover the data without overlap or gap, bytes == elements * size (the
/// one-byte integers aside: containers store packed codes under shapes of their own), rank <= 8, no overflow, no name twice.
/// errors  Corrupt
Result<SafetensorsHeader> parseSafetensorsHeader(std::string json, std::uint64_t data_begin, std::uint64_t file_size, const std::string& file);

struct SafetensorsFile {
  ModelFile file;
  SafetensorsHeader header;
};

/// Opens `path`, records its identity, reads and proves its header.
/// errors  NotFound, Io, Corrupt
Result<SafetensorsFile> readSafetensorsFile(const std::filesystem::path& path);

}  // namespace sluice
