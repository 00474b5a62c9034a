#pragma once
// Writes safetensors files for tests: true ones, and ones that lie in any field.

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace sluice {

struct TestTensor {
  std::string dtype;  // "F32", "U8", ...
  std::vector<std::uint64_t> shape;
  std::string bytes;
};

/// u64 little-endian length, header, data: as given, true or not.
inline std::string safetensorsBytes(const std::string& header, const std::string& data) {
  std::string out(8, '\0');
  for (int i = 0; i < 8; ++i) out[std::size_t(i)] = char((std::uint64_t(header.size()) >> (8 * i)) & 0xff);
  return out + header + data;
}

/// `text` as a JSON string.
inline std::string quoted(const std::string& text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out + "\"";
}

inline void writeBytes(const std::filesystem::path& path, const std::string& bytes) {
  std::ofstream out(path, std::ios::binary | std::ios::trunc);
  out.write(bytes.data(), std::streamsize(bytes.size()));
  if (!out) throw std::runtime_error("cannot write " + path.string());
}

/// Collects tensors and writes them in order of their names. `stamps` become __metadata__["colibri.fmt"].
class SafetensorsWriter {
 public:
  std::map<std::string, TestTensor> tensors;
  std::map<std::string, std::string> stamps;

  /// `bytes` bytes of value 1.
  void add(const std::string& name, const std::string& dtype, std::vector<std::uint64_t> shape, std::uint64_t bytes) {
    tensors[name] = {dtype, std::move(shape), std::string(bytes, '\1')};
  }

  std::string bytes() const {
    std::vector<std::string> fields;
    if (!stamps.empty()) {
      std::vector<std::string> entries;
      for (const auto& [name, format] : stamps) entries.push_back(quoted(name) + ":" + quoted(format));
      fields.push_back(fmt::format("\"__metadata__\":{{\"colibri.fmt\":{}}}", quoted(fmt::format("{{{}}}", fmt::join(entries, ",")))));
    }
    std::string data;
    for (const auto& [name, tensor] : tensors) {
      fields.push_back(fmt::format("{}:{{\"dtype\":\"{}\",\"shape\":[{}],\"data_offsets\":[{},{}]}}", quoted(name), tensor.dtype, fmt::join(tensor.shape, ","), data.size(),
                                   data.size() + tensor.bytes.size()));
      data += tensor.bytes;
    }
    return safetensorsBytes(fmt::format("{{{}}}", fmt::join(fields, ",")), data);
  }

  void write(const std::filesystem::path& path) const { writeBytes(path, bytes()); }
};

}  // namespace sluice
