#pragma once
// Reads expected.safetensors: what a reference implementation said (see tests/models/README.md for the names).

#include <filesystem>
#include <string>
#include <vector>

#include "core/base/check.h"
#include "core/base/file.h"
#include "core/format/safetensors.h"

namespace sluice {

class Golden {
 public:
  explicit Golden(const std::filesystem::path& path) : path_(path) {
    Result<SafetensorsFile> file = readSafetensorsFile(path);
    CHECK(file.ok());
    tensors_ = std::move(file).value().header.tensors;
  }
  bool has(const std::string& name) const { return find(name) != nullptr; }
  std::vector<std::uint64_t> shape(const std::string& name) const {
    const TensorEntry* entry = find(name);
    CHECK(entry != nullptr);
    return {entry->shape.begin(), entry->shape.begin() + entry->rank};
  }
  std::vector<float> floats(const std::string& name) const { return read<float>(name, Dtype::F32); }
  std::vector<std::int64_t> integers(const std::string& name) const { return read<std::int64_t>(name, Dtype::I64); }

 private:
  const TensorEntry* find(const std::string& name) const {
    for (const TensorEntry& entry : tensors_)
      if (entry.name == name) return &entry;
    return nullptr;
  }
  template <class T>
  std::vector<T> read(const std::string& name, Dtype dtype) const {
    const TensorEntry* entry = find(name);
    CHECK(entry != nullptr && entry->dtype == dtype);
    std::vector<T> out(std::size_t(entry->data.bytes / sizeof(T)));
    const Result<OwnedFd> fd = openRead(path_);
    CHECK(fd.ok() && readExactly(fd.value(), path_, entry->data.offset, std::as_writable_bytes(std::span(out))).ok());
    return out;
  }
  std::filesystem::path path_;
  std::vector<TensorEntry> tensors_;
};

}  // namespace sluice
