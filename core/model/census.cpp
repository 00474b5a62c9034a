#include "core/model/census.h"

#include <algorithm>
#include <charconv>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace sluice {
namespace {

constexpr std::size_t kGroupsShownMax = 20;
constexpr std::size_t kFaultsShownMax = 8;

/// "3", "3 to 7": runs of ascending numbers.
std::vector<std::string> runs(const std::vector<int>& numbers) {
  std::vector<std::string> out;
  for (std::size_t begin = 0; begin < numbers.size();) {
    std::size_t end = begin + 1;
    while (end < numbers.size() && numbers[end] == numbers[end - 1] + 1) ++end;
    out.push_back(end - begin == 1 ? fmt::format("{}", numbers[begin]) : fmt::format("{} to {}", numbers[begin], numbers[end - 1]));
    begin = end;
  }
  return out;
}

std::string plural(const char* noun, std::size_t count) { return count == 1 ? noun : fmt::format("{}s", noun); }

}  // namespace

bool splitLayerName(std::string_view name, int& layer, std::string_view& rest) {
  constexpr std::string_view kStem = "model.layers.";
  if (!name.starts_with(kStem)) return false;
  const char* begin = name.data() + kStem.size();
  const char* end = name.data() + name.size();
  const auto [stop, code] = std::from_chars(begin, end, layer);
  if (code != std::errc() || stop == end || *stop != '.' || layer < 0) return false;
  rest = std::string_view(stop + 1, std::size_t(end - stop - 1));
  return true;
}

Census::Census(const TensorDirectory& directory) : directory_(directory), claimed_(directory.entries().size(), false) {}

void Census::claim(const std::string& name) {
  for (const char* suffix : {"", ".qs", "_scale_inv", "_scale"})
    if (const TensorEntry* entry = directory_.find(name + suffix); entry != nullptr) claimed_[std::size_t(entry - directory_.entries().data())] = true;
}

/// Counts `name` as expected, and as missing when it or its scales are not there.
bool Census::lacks(int layer, const std::string& name) {
  Tally& tally = tallies_[layer];
  ++tally.expected;
  claim(name);
  std::string missing = missingPart(directory_, name);
  if (missing.empty()) return false;
  ++tally.missing;
  tally.names.push_back(std::move(missing));
  return true;
}

MatrixLayout Census::matrix(int layer, const std::string& name, int rows, int cols) {
  if (lacks(layer, name)) return {};
  Result<MatrixLayout> found = matrixLayout(directory_, name, rows, cols);
  if (found.ok()) {
    if (const std::vector<std::string> rivals = rivalFormats(directory_, name, rows, cols); !rivals.empty())
      ambiguous_.push_back({name, formatName(found.value()), fmt::format("{}", fmt::join(rivals, ", "))});
    return found.value();
  }
  wrong(found.error());
  return {};
}

VectorLayout Census::vector(int layer, const std::string& name, int length) {
  if (lacks(layer, name)) return {};
  Result<VectorLayout> found = vectorLayout(directory_, name, length);
  if (found.ok()) return found.value();
  wrong(found.error());
  return {};
}

std::vector<ExpertLayout> Census::experts(int layer, const ExpertNames& names, int count, int inter, int hidden) {
  if (expertsAreFused(directory_, names)) {
    const bool lacks_first = lacks(layer, names.fusedGateUp());
    const bool lacks_second = lacks(layer, names.fusedDown());
    if (lacks_first || lacks_second) return {};
    Result<std::vector<ExpertLayout>> found = fusedExperts(directory_, names, count, inter, hidden);
    if (found.ok()) return std::move(found).value();
    wrong(found.error());
    return {};
  }
  std::vector<ExpertLayout> out;
  out.reserve(std::min<std::size_t>(std::size_t(count), directory_.entries().size()));  // a hostile count buys no memory
  for (int expert = 0; expert < count; ++expert) {
    Tally& tally = tallies_[layer];
    const std::size_t names_before = tally.names.size();
    const std::uint64_t missing_before = tally.missing;
    ExpertLayout layout;
    layout.gate = matrix(layer, names.gate(expert), inter, hidden);
    layout.up = matrix(layer, names.up(expert), inter, hidden);
    layout.down = matrix(layer, names.down(expert), hidden, inter);
    if (tally.missing - missing_before == 3) {
      tally.names.resize(names_before);
      tally.experts.push_back(expert);
    }
    if (tally.missing == missing_before) out.push_back(layout);
  }
  return out;
}

std::vector<const TensorEntry*> Census::unclaimed() const {
  std::vector<const TensorEntry*> out;
  for (std::size_t i = 0; i < claimed_.size(); ++i)
    if (!claimed_[i]) out.push_back(&directory_.entries()[i]);
  std::sort(out.begin(), out.end(), [](const TensorEntry* a, const TensorEntry* b) { return a->name < b->name; });
  return out;
}

std::vector<std::string> Census::missingGroups() const {
  std::vector<std::string> groups;
  std::vector<int> whole;
  std::map<std::string, std::vector<int>> layers_by_experts;  // "17 to 255" -> layers
  for (const auto& [layer, tally] : tallies_) {
    if (tally.missing == 0) continue;
    if (layer != kNoLayer && tally.missing == tally.expected) {
      whole.push_back(layer);
      continue;
    }
    groups.insert(groups.end(), tally.names.begin(), tally.names.end());
    if (!tally.experts.empty()) {
      const std::string which = fmt::format("{} {}", plural("expert", tally.experts.size()), fmt::join(runs(tally.experts), ", "));
      layers_by_experts[which].push_back(layer);
    }
  }
  for (const auto& [which, layers] : layers_by_experts)
    groups.push_back(fmt::format("{} of {} {}", which, plural("layer", layers.size()), fmt::join(runs(layers), ", ")));
  if (!whole.empty()) groups.push_back(fmt::format("all of {} {}", plural("layer", whole.size()), fmt::join(runs(whole), ", ")));
  return groups;
}

Result<Done> Census::verdict() const {
  std::uint64_t expected = 0, missing = 0;
  for (const auto& [layer, tally] : tallies_) {
    expected += tally.expected;
    missing += tally.missing;
  }
  if (missing == 0 && wrong_.empty()) return Done{};
  std::string text;
  if (missing != 0) {
    const std::vector<std::string> groups = missingGroups();
    const std::size_t shown = std::min(groups.size(), kGroupsShownMax);
    text = fmt::format("{} of {} tensors are missing: {}", missing, expected, fmt::join(groups.begin(), groups.begin() + std::ptrdiff_t(shown), ", "));
    if (shown < groups.size()) text += fmt::format(", and {} more", groups.size() - shown);
    const std::vector<std::string>& shards = directory_.absentShards();
    text += shards.empty() ? std::string("; copy the files that hold them")
                           : fmt::format("; {} {} not there, the first is {}: finish the download", shards.size(), shards.size() == 1 ? "shard is" : "shards are",
                                         shards.front());
  }
  bool corrupt = false;
  for (std::size_t i = 0; i < wrong_.size(); ++i) {
    corrupt = corrupt || wrong_[i].code != Errc::Unsupported;
    if (i < kFaultsShownMax) text += (text.empty() ? "" : "; ") + wrong_[i].what;
  }
  if (wrong_.size() > kFaultsShownMax) text += fmt::format("; and {} more", wrong_.size() - kFaultsShownMax);
  return Error{corrupt ? Errc::Corrupt : !wrong_.empty() ? Errc::Unsupported : Errc::NotFound, text};
}

}  // namespace sluice
