#include "core/format/tensor_directory.h"

#include <algorithm>
#include <charconv>
#include <set>
#include <system_error>

#include <fmt/format.h>

#include "core/base/file.h"
#include "core/format/json_text.h"

namespace sluice {
namespace {

constexpr const char* kIndexName = "model.safetensors.index.json";
constexpr int kIndexDepthMax = 8;

Result<std::vector<std::filesystem::path>> weightFiles(const std::filesystem::path& directory) {
  std::error_code error;
  const auto status = std::filesystem::status(directory, error);
  if (!std::filesystem::exists(status)) return Error{Errc::NotFound, fmt::format("there is no model directory {}", directory.string())};
  if (!std::filesystem::is_directory(status))
    return Error{Errc::NotFound, fmt::format("{} is not a directory; give the directory that holds the model's config.json", directory.string())};
  std::vector<std::filesystem::path> files;
  bool saw_gguf = false;
  std::filesystem::directory_iterator it(directory, error);
  for (; !error && it != std::filesystem::directory_iterator(); it.increment(error)) {
    const std::filesystem::path& path = it->path();
    saw_gguf = saw_gguf || path.extension() == ".gguf";
    // "._model.safetensors" and its like are litter of other systems, not weights.
    if (path.extension() == ".safetensors" && path.filename().string().front() != '.') files.push_back(path);
  }
  if (error) return Error{Errc::Io, fmt::format("cannot list {}: {}", directory.string(), error.message())};
  if (files.empty())
    return Error{Errc::NotFound, fmt::format("{} holds no *.safetensors file{}", directory.string(),
                                             saw_gguf ? "; it holds GGUF, which is not read yet" : "; is this the model's directory?")};
  if (files.size() > kModelFilesMax)
    return Error{Errc::Unsupported, fmt::format("{} holds {} *.safetensors files, at most {} are read", directory.string(), files.size(), kModelFilesMax)};
  std::sort(files.begin(), files.end());
  return files;
}

/// "stem-00003-of-00141.safetensors" -> stem, 3, 141.
struct ShardName {
  std::string stem;
  unsigned index = 0, count = 0;
};

bool readShardName(const std::string& name, ShardName& out) {
  constexpr std::string_view kEnd = "-of-00000.safetensors";
  const std::size_t tail = kEnd.size() + 6;  // "-00003" before it
  if (name.size() < tail) return false;
  const std::string_view text = std::string_view(name).substr(name.size() - tail);
  if (text[0] != '-' || text.substr(6, 4) != "-of-" || text.substr(15) != ".safetensors") return false;
  const auto number = [&](std::size_t at, unsigned& value) {
    const char* begin = text.data() + at;
    const auto [end, code] = std::from_chars(begin, begin + 5, value);
    return code == std::errc() && end == begin + 5;
  };
  out.stem = name.substr(0, name.size() - tail);
  return number(1, out.index) && number(10, out.count);
}

}  // namespace

Result<TensorDirectory> TensorDirectory::open(const std::filesystem::path& directory) {
  TensorDirectory out;
  const std::vector<std::filesystem::path> paths = TRY(weightFiles(directory));
  for (const std::filesystem::path& path : paths) {
    SafetensorsFile file = TRY(readSafetensorsFile(path));
    TRY(out.add(std::move(file)));
  }
  TRY(out.checkIndex(directory));
  out.noteAbsentShards();
  return out;
}

Result<Done> TensorDirectory::add(SafetensorsFile file) {
  const auto number = std::uint32_t(files_.size());
  files_.push_back(std::move(file.file));
  for (TensorEntry& entry : file.header.tensors) {
    const auto [known, is_new] = by_name_.emplace(entry.name, std::uint32_t(entries_.size()));
    if (!is_new)
      return Error{Errc::Corrupt, fmt::format("tensor '{}' is in {} and in {} too; leave one of the two files in the directory", printable(entry.name),
                                              fileOf(entries_[known->second]).string(), files_.back().path.string())};
    entry.data.file = number;
    entries_.push_back(std::move(entry));
  }
  for (auto& [name, format] : file.header.stamps) {
    const auto [known, is_new] = stamps_.emplace(name, format);
    if (!is_new && known->second != format)
      return Error{Errc::Corrupt, fmt::format("{} stamps tensor '{}' as {}, another file stamps it as {}", files_.back().path.string(), printable(name),
                                              printable(format), printable(known->second))};
  }
  return Done{};
}

Result<Done> TensorDirectory::checkIndex(const std::filesystem::path& directory) const {
  const std::filesystem::path path = directory / kIndexName;
  std::error_code error;
  if (!std::filesystem::exists(path, error)) return Done{};
  const JsonText index = TRY(JsonText::readFile(path, kHeaderBytesMax, kIndexDepthMax));
  simdjson::dom::object map;
  if (index.root()["weight_map"].get(map) != simdjson::SUCCESS)
    return Error{Errc::Corrupt, fmt::format("{} has no weight_map object; copy the file again", path.string())};
  std::set<std::string, std::less<>> known;
  for (const ModelFile& file : files_) known.insert(file.path.filename().string());
  std::set<std::string_view> absent;
  for (const auto& field : map) {
    std::string_view file;
    if (field.value.get(file) != simdjson::SUCCESS)
      return Error{Errc::Corrupt, fmt::format("{}: the file of tensor '{}' is not a string", path.string(), printable(field.key))};
    if (known.find(file) == known.end()) absent.insert(file);
  }
  if (!absent.empty())
    return Error{Errc::NotFound, fmt::format("{} names {} file{} that {} not there, the first is '{}'; finish the download", path.string(), absent.size(),
                                             absent.size() == 1 ? "" : "s", absent.size() == 1 ? "is" : "are", printable(*absent.begin()))};
  for (const auto& field : map) {
    const std::string_view file = field.value.get_string().value_unsafe();
    const TensorEntry* entry = find(field.key);
    if (entry == nullptr)
      return Error{Errc::NotFound, fmt::format("{} promises tensor '{}' in '{}', which does not hold it; copy that file again", path.string(), printable(field.key), printable(file))};
    if (fileOf(*entry).filename() != file)
      return Error{Errc::Corrupt, fmt::format("{} promises tensor '{}' in '{}', but it is in {}; copy the files again", path.string(), printable(field.key), printable(file),
                                              fileOf(*entry).string())};
  }
  return Done{};
}

void TensorDirectory::noteAbsentShards() {
  std::map<std::pair<std::string, unsigned>, std::set<unsigned>> groups;
  ShardName shard;
  for (const ModelFile& file : files_)
    if (readShardName(file.path.filename().string(), shard)) groups[{shard.stem, shard.count}].insert(shard.index);
  for (const auto& [group, present] : groups)
    for (unsigned index = 1; index <= group.second && index <= kModelFilesMax; ++index)
      if (present.count(index) == 0) absent_shards_.push_back(fmt::format("{}-{:05}-of-{:05}.safetensors", group.first, index, group.second));
}

const TensorEntry* TensorDirectory::find(std::string_view name) const {
  const auto it = by_name_.find(std::string(name));
  return it == by_name_.end() ? nullptr : &entries_[it->second];
}

std::string_view TensorDirectory::stampOf(std::string_view name) const {
  const auto it = stamps_.find(name);
  return it == stamps_.end() ? std::string_view() : std::string_view(it->second);
}

}  // namespace sluice
