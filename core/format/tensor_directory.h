#pragma once
// All tensors of a model directory under their names, wherever they lie: one file, shards with an index, or a container of any files.

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/base/result.h"
#include "core/format/safetensors.h"

namespace sluice {

constexpr std::size_t kModelFilesMax = 512;

class TensorDirectory {
 public:
  /// Reads the header of every *.safetensors file in `directory` (hidden files aside), in order of their names. A
  /// model.safetensors.index.json is a check: each shard and tensor that it promises must be there.
  /// errors  NotFound (no such directory, no weights, a shard of the index), Corrupt, Unsupported (more than 512 files), Io
  static Result<TensorDirectory> open(const std::filesystem::path& directory);

  /// Null when there is none. The pointer lives as long as the directory.
  const TensorEntry* find(std::string_view name) const;
  const std::vector<TensorEntry>& entries() const { return entries_; }
  const std::vector<ModelFile>& files() const { return files_; }
  const std::filesystem::path& fileOf(const TensorEntry& entry) const { return files_[entry.data.file].path; }
  /// The format that the file's colibri.fmt stamp gives a tensor; empty when it says nothing.
  std::string_view stampOf(std::string_view name) const;
  /// Shards named "...-00003-of-00141.safetensors" that are not there: what an unfinished download leaves out when there is no index.
  const std::vector<std::string>& absentShards() const { return absent_shards_; }

 private:
  TensorDirectory() = default;
  Result<Done> add(SafetensorsFile file);
  Result<Done> checkIndex(const std::filesystem::path& directory) const;
  void noteAbsentShards();
  std::vector<ModelFile> files_;
  std::vector<TensorEntry> entries_;
  std::unordered_map<std::string, std::uint32_t> by_name_;
  std::map<std::string, std::string, std::less<>> stamps_;
  std::vector<std::string> absent_shards_;
};

}  // namespace sluice
