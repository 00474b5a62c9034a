#include "stream/sums.h"

#include <algorithm>
#include <cstring>

#include <fmt/format.h>
#include <xxhash.h>

namespace sluice {
namespace {

// 128 experts in each of 10,000 layers, and as many tensors: more than any model, less than a hostile file may make us read.
constexpr Bytes kSumsMax = 64_MiB;

std::uint64_t hashOf(const std::string& text) { return XXH3_64bits(text.data(), text.size()); }

SumsFile describe(const ModelFile& file) { return {file.size, hashOf(file.path.filename().string())}; }

template <class T>
void append(std::string& out, const T& value) {
  static_assert(std::is_trivially_copyable_v<T>);
  out.append(reinterpret_cast<const char*>(&value), sizeof value);
}

std::vector<std::uint64_t> takeSums(const char*& at, std::uint32_t count) {
  std::vector<std::uint64_t> sums(count);
  if (count > 0) std::memcpy(sums.data(), at, std::size_t(count) * sizeof(std::uint64_t));
  at += std::size_t(count) * sizeof(std::uint64_t);
  return sums;
}

// Why the text is not this model's sums; empty when it is.
std::string whyNot(const std::string& text, std::span<const ModelFile> files, std::size_t experts, std::size_t resident) {
  SumsHeader header;
  if (text.size() < sizeof header) return fmt::format("it is {} bytes long, less than its header", text.size());
  std::memcpy(&header, text.data(), sizeof header);
  if (header.magic != kSumsMagic) return "it is no file of sums";
  if (header.version != kSumsVersion) return fmt::format("it has version {}, this build reads {}", header.version, kSumsVersion);
  const std::uint64_t whole = sizeof header + std::uint64_t(header.files) * sizeof(SumsFile) +
                              (std::uint64_t(header.experts) + header.resident) * sizeof(std::uint64_t);
  if (text.size() != whole) return fmt::format("it is {} bytes long and says {}", text.size(), whole);
  if (XXH3_64bits(text.data() + sizeof header, text.size() - sizeof header) != header.body_xxh3) return "its own checksum does not match";
  if (header.files != files.size()) return fmt::format("it belongs to another model, of {} files (this one has {})", header.files, files.size());
  for (std::size_t file_idx = 0; file_idx < files.size(); ++file_idx) {
    SumsFile known;
    std::memcpy(&known, text.data() + sizeof header + file_idx * sizeof known, sizeof known);
    const SumsFile here = describe(files[file_idx]);
    if (known.name_xxh3 != here.name_xxh3) return fmt::format("it belongs to another model, without a file {}", files[file_idx].path.filename().string());
    if (known.size != here.size)
      return fmt::format("it belongs to another model, where {} has {} bytes (here {})", files[file_idx].path.filename().string(), known.size, here.size);
  }
  if (header.experts != experts || header.resident != resident)
    return fmt::format("it belongs to another model, of {} experts and {} other tensors (this one has {} and {})", header.experts, header.resident, experts,
                       resident);
  return {};
}

}  // namespace

std::uint64_t sumBytes(std::span<const std::byte> bytes, std::uint64_t before) {
  std::uint64_t sum = before;
  while (!bytes.empty()) {
    const std::size_t piece = std::size_t(std::min<std::uint64_t>(bytes.size(), kSumPiece.count()));
    sum = XXH3_64bits_withSeed(bytes.data(), piece, sum);
    bytes = bytes.subspan(piece);
  }
  return sum;
}

std::filesystem::path sumsPath(const std::filesystem::path& state_directory, const std::filesystem::path& model_directory) {
  std::error_code ignored;  // a path that can't be resolved still names one model
  std::filesystem::path whole = std::filesystem::weakly_canonical(model_directory, ignored);
  if (whole.empty()) whole = model_directory;
  return state_directory / fmt::format("{}-{:016x}.sums", whole.filename().string(), hashOf(whole.string()));
}

Result<Done> writeSums(FileSteps& steps, const std::filesystem::path& path, std::span<const ModelFile> files, const Sums& sums) {
  std::string body;
  for (const ModelFile& file : files) append(body, describe(file));
  for (const std::uint64_t sum : sums.experts) append(body, sum);
  for (const std::uint64_t sum : sums.resident) append(body, sum);
  std::string whole;
  append(whole, SumsHeader{kSumsMagic, kSumsVersion, std::uint32_t(files.size()), std::uint32_t(sums.experts.size()), std::uint32_t(sums.resident.size()),
                           XXH3_64bits(body.data(), body.size())});
  whole += body;
  return replaceFile(steps, path, std::as_bytes(std::span(whole)));
}

std::optional<Sums> loadSums(const std::filesystem::path& path, std::span<const ModelFile> files, std::size_t experts, std::size_t resident,
                             Report& report) {
  const Result<std::string> text = readWholeFile(path, kSumsMax);
  if (!text.ok() && text.error().code == Errc::NotFound) return std::nullopt;
  const std::string why = text.ok() ? whyNot(text.value(), files, experts, resident) : text.error().what;
  if (!why.empty()) {
    report.warnOnce("sums_ignored", fmt::format("the sums in {} are ignored and experts are read unchecked: {}; `sluice verify --write` makes new ones",
                                                path.string(), why));
    return std::nullopt;
  }
  const char* at = text.value().data() + sizeof(SumsHeader) + files.size() * sizeof(SumsFile);
  Sums sums;
  sums.experts = takeSums(at, std::uint32_t(experts));
  sums.resident = takeSums(at, std::uint32_t(resident));
  return sums;
}

}  // namespace sluice
