#include "core/format/safetensors.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>
#include <unordered_set>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/base/file.h"
#include "core/format/json_text.h"

namespace sluice {
namespace {

static_assert(std::endian::native == std::endian::little, "the length field is little-endian, and so are we");

using simdjson::dom::element;

// A tensor's entry nests three deep (file, tensor, shape); what a stamp holds is parsed apart.
constexpr int kHeaderDepthMax = 8;
constexpr int kStampDepthMax = 4;

Dtype dtypeNamed(std::string_view name) {
  if (name == "F32") return Dtype::F32;
  if (name == "BF16") return Dtype::Bf16;
  if (name == "F16") return Dtype::F16;
  if (name == "F8_E4M3") return Dtype::Fp8E4m3;
  if (name == "F8_E8M0") return Dtype::E8m0;
  if (name == "U8") return Dtype::U8;
  if (name == "I8") return Dtype::I8;
  if (name == "I64") return Dtype::I64;
  return Dtype::Other;
}

/// One file's header while it is being proved; `at` names the file and the tensor in every sentence.
struct HeaderProof {
  const std::string& file;
  std::uint64_t data_begin, data_bytes;

  Error corrupt(std::string_view tensor, const std::string& fault) const {
    return Error{Errc::Corrupt, fmt::format("{}: tensor '{}' {}; copy the file again", file, printable(tensor), fault)};
  }

  Result<Done> readShape(element value, TensorEntry& entry) const {
    simdjson::dom::array dims;
    if (value.get(dims) != simdjson::SUCCESS) return corrupt(entry.name, "has a shape that is not a list");
    for (const element dim : dims) {
      if (entry.rank == kTensorRankMax) return corrupt(entry.name, fmt::format("has more than {} dimensions", kTensorRankMax));
      if (dim.get(entry.shape[std::size_t(entry.rank)]) != simdjson::SUCCESS)
        return corrupt(entry.name, "has a dimension that is not a whole number from 0 on");
      ++entry.rank;
    }
    return Done{};
  }

  Result<Done> readOffsets(element value, TensorEntry& entry) const {
    simdjson::dom::array pair;
    std::uint64_t bounds[2] = {0, 0};
    std::size_t count = 0;
    if (value.get(pair) != simdjson::SUCCESS) return corrupt(entry.name, "has data_offsets that are not a list");
    for (const element bound : pair) {
      if (count == 2 || bound.get(bounds[count]) != simdjson::SUCCESS)
        return corrupt(entry.name, "has data_offsets that are not two whole numbers from 0 on");
      ++count;
    }
    if (count != 2) return corrupt(entry.name, fmt::format("has {} data_offsets, not 2", count));
    if (bounds[0] > bounds[1]) return corrupt(entry.name, fmt::format("begins at {} and ends before it, at {}", bounds[0], bounds[1]));
    if (bounds[1] > data_bytes)
      return corrupt(entry.name, fmt::format("ends at byte {} of the data, which is {} bytes long: the file is truncated or its header is damaged",
                                             bounds[1], data_bytes));
    entry.data = {0, data_begin + bounds[0], bounds[1] - bounds[0]};
    return Done{};
  }

  Result<Done> proveBytes(const TensorEntry& entry) const {
    std::uint64_t elements = 1;
    for (int axis = 0; axis < entry.rank; ++axis)
      if (__builtin_mul_overflow(elements, entry.shape[std::size_t(axis)], &elements))
        return corrupt(entry.name, fmt::format("has shape {}, more elements than can be counted", shapeText(entry)));
    const std::uint64_t size = dtypeBytes(entry.dtype);
    if (size == 0 || entry.dtype == Dtype::U8 || entry.dtype == Dtype::I8) return Done{};
    std::uint64_t bytes = 0;
    if (__builtin_mul_overflow(elements, size, &bytes) || bytes != entry.data.bytes)
      return corrupt(entry.name, fmt::format("of {} {} has {} bytes, not {} times {}", entry.dtype_name, shapeText(entry), entry.data.bytes, elements, size));
    return Done{};
  }

  Result<TensorEntry> readEntry(std::string_view name, element value) const {
    TensorEntry entry;
    entry.name = name;
    simdjson::dom::object fields;
    if (value.get(fields) != simdjson::SUCCESS) return corrupt(name, "is not described by an object");
    bool has_dtype = false, has_shape = false, has_offsets = false;
    for (const auto& field : fields) {
      bool* seen = field.key == "dtype" ? &has_dtype : field.key == "shape" ? &has_shape : field.key == "data_offsets" ? &has_offsets : nullptr;
      if (seen == nullptr) continue;  // the format lets writers add fields
      if (std::exchange(*seen, true)) return corrupt(name, fmt::format("has {} twice", field.key));
      if (seen == &has_dtype) {
        std::string_view dtype;
        if (field.value.get(dtype) != simdjson::SUCCESS) return corrupt(name, "has a dtype that is not a string");
        entry.dtype_name = printable(dtype);
        entry.dtype = dtypeNamed(dtype);
      } else if (seen == &has_shape) {
        TRY(readShape(field.value, entry));
      } else {
        TRY(readOffsets(field.value, entry));
      }
    }
    if (!has_dtype || !has_shape || !has_offsets)
      return corrupt(name, fmt::format("lacks its {}", !has_dtype ? "dtype" : !has_shape ? "shape" : "data_offsets"));
    TRY(proveBytes(entry));
    return entry;
  }

  Result<Done> readStamps(std::string_view text, std::map<std::string, std::string>& stamps) const {
    const JsonText parsed = TRY(JsonText::parse(std::string(text), kStampDepthMax, file + ": the colibri.fmt stamp"));
    simdjson::dom::object map;
    if (parsed.root().get(map) != simdjson::SUCCESS) return Error{Errc::Corrupt, fmt::format("{}: the colibri.fmt stamp is not an object", file)};
    for (const auto& field : map) {
      std::string_view format;
      if (field.value.get(format) != simdjson::SUCCESS)
        return Error{Errc::Corrupt, fmt::format("{}: the colibri.fmt stamp of '{}' is not a string", file, printable(field.key))};
      if (stamps.size() == kStampsMax)
        return Error{Errc::Corrupt, fmt::format("{}: the colibri.fmt stamp has more than {} entries", file, kStampsMax)};
      if (!stamps.emplace(field.key, format).second)
        return Error{Errc::Corrupt, fmt::format("{}: the colibri.fmt stamp names '{}' twice", file, printable(field.key))};
    }
    return Done{};
  }

  Result<Done> readMetadata(element value, std::map<std::string, std::string>& stamps) const {
    simdjson::dom::object fields;
    if (value.get(fields) != simdjson::SUCCESS) return Error{Errc::Corrupt, fmt::format("{}: __metadata__ is not an object", file)};
    if (const std::string_view twice = repeatedKey(fields); !twice.empty())
      return Error{Errc::Corrupt, fmt::format("{}: __metadata__ has '{}' twice", file, printable(twice))};
    for (const auto& field : fields) {
      std::string_view text;
      if (field.value.get(text) != simdjson::SUCCESS)
        return Error{Errc::Corrupt, fmt::format("{}: __metadata__ '{}' is not a string", file, printable(field.key))};
      if (field.key == "colibri.fmt") TRY(readStamps(text, stamps));
    }
    return Done{};
  }

  /// Tensors in order of their offsets must fill the data: an overlap or a gap says that header and data do not belong together.
  Result<Done> proveCover(const std::vector<TensorEntry>& tensors) const {
    std::uint64_t end = data_begin;
    const TensorEntry* before = nullptr;
    for (const TensorEntry& entry : tensors) {
      if (entry.data.offset < end)
        return corrupt(entry.name, fmt::format("begins at byte {} of the file, inside tensor '{}', which ends at {}", entry.data.offset,
                                               printable(before->name), end));
      if (entry.data.offset > end)
        return corrupt(entry.name, fmt::format("begins at byte {} of the file, but the data before it ends at {}: the format allows no gap",
                                               entry.data.offset, end));
      end = entry.data.offset + entry.data.bytes;
      before = &entry;
    }
    if (end != data_begin + data_bytes)
      return Error{Errc::Corrupt, fmt::format("{} has {} bytes behind its last tensor that belong to none; copy the file again", file,
                                              data_begin + data_bytes - end)};
    return Done{};
  }
};

}  // namespace

std::uint64_t dtypeBytes(Dtype dtype) {
  switch (dtype) {
    case Dtype::F32: return 4;
    case Dtype::Bf16:
    case Dtype::F16: return 2;
    case Dtype::Fp8E4m3:
    case Dtype::E8m0:
    case Dtype::U8:
    case Dtype::I8: return 1;
    case Dtype::I64: return 8;
    case Dtype::Other: return 0;
  }
  UNREACHABLE();
}

std::string shapeText(const TensorEntry& entry) {
  return fmt::format("[{}]", fmt::join(entry.shape.begin(), entry.shape.begin() + entry.rank, ", "));
}

Result<SafetensorsHeader> parseSafetensorsHeader(std::string json, std::uint64_t data_begin, std::uint64_t file_size, const std::string& file) {
  CHECK(data_begin <= file_size);
  const HeaderProof proof{file, data_begin, file_size - data_begin};
  const JsonText parsed = TRY(JsonText::parse(std::move(json), kHeaderDepthMax, file + ": the safetensors header"));
  simdjson::dom::object fields;
  if (parsed.root().get(fields) != simdjson::SUCCESS) return Error{Errc::Corrupt, fmt::format("{}: the safetensors header is not an object", file)};
  SafetensorsHeader header;
  bool has_metadata = false;
  for (const auto& field : fields) {
    if (field.key == "__metadata__") {
      if (std::exchange(has_metadata, true)) return Error{Errc::Corrupt, fmt::format("{}: the header has __metadata__ twice", file)};
      TRY(proof.readMetadata(field.value, header.stamps));
    } else {
      header.tensors.push_back(TRY(proof.readEntry(field.key, field.value)));
    }
  }
  std::unordered_set<std::string_view> names;
  for (const TensorEntry& entry : header.tensors)
    if (!names.insert(entry.name).second) return proof.corrupt(entry.name, "is in the header twice");
  // Empty tensors may share an offset with the tensor that follows them.
  std::sort(header.tensors.begin(), header.tensors.end(), [](const TensorEntry& a, const TensorEntry& b) {
    return std::pair(a.data.offset, a.data.bytes) < std::pair(b.data.offset, b.data.bytes);
  });
  TRY(proof.proveCover(header.tensors));
  return header;
}

Result<SafetensorsFile> readSafetensorsFile(const std::filesystem::path& path) {
  const OwnedFd fd = TRY(openRead(path));
  const FileIdentity identity = TRY(identityOf(fd, path));
  std::uint64_t length = 0;
  if (identity.size < sizeof length)
    return Error{Errc::Corrupt, fmt::format("{} is {} bytes long, too short for a safetensors file; copy it again", path.string(), identity.size)};
  TRY(readExactly(fd, path, 0, std::as_writable_bytes(std::span(&length, 1))));
  if (length > kHeaderBytesMax.count() || length > identity.size - sizeof length)
    return Error{Errc::Corrupt, fmt::format("{} claims a header of {} bytes, but is {} bytes long and headers end at {}: truncated, or not a safetensors file",
                                            path.string(), length, identity.size, kHeaderBytesMax.count())};
  std::string json;
  json.reserve(std::size_t(length) + 64);  // the parser's padding, so that it need not move the text
  json.resize(std::size_t(length));
  TRY(readExactly(fd, path, sizeof length, std::as_writable_bytes(std::span(json))));
  SafetensorsFile out;
  out.file = {path, identity.size, identity.device, identity.inode, identity.modified_ns};
  out.header = TRY(parseSafetensorsHeader(std::move(json), sizeof length + length, identity.size, path.string()));
  return out;
}

}  // namespace sluice
