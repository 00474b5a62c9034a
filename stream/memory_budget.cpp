#include "stream/memory_budget.h"

#include <algorithm>
#include <charconv>

#include <fmt/format.h>

#include "core/base/file.h"

namespace sluice {
namespace {

// v1 spells "no limit" as LONG_MAX rounded down to a page; nothing real comes near a quarter of it.
constexpr std::uint64_t kNoLimit = std::uint64_t(1) << 61;
// Kernel text files are short; memory.stat of a busy machine is a few KiB.
constexpr Bytes kTextMax = 1_MiB;

std::string_view trimmed(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(" \t\n");
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(" \t\n") - begin + 1);
}

std::optional<std::uint64_t> number(std::string_view text) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || text.empty()) return std::nullopt;
  return value;
}

template <class Visit>
void eachLine(std::string_view text, Visit visit) {
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    visit(text.substr(0, end));
    text = end == std::string_view::npos ? std::string_view() : text.substr(end + 1);
  }
}

// The number behind `name ` at the start of a line.
std::optional<std::uint64_t> fieldOf(std::string_view stat, std::string_view name) {
  std::optional<std::uint64_t> found;
  eachLine(stat, [&](std::string_view line) {
    if (line.substr(0, name.size()) == name && line.size() > name.size() && line[name.size()] == ' ') found = number(trimmed(line.substr(name.size())));
  });
  return found;
}

std::string textOf(const std::filesystem::path& path) {
  Result<std::string> text = readWholeFile(path, kTextMax);
  return text.ok() ? std::move(text).value() : std::string();
}

CgroupTexts readGroup(const std::filesystem::path& mount, bool v2, const std::string& group) {
  const std::filesystem::path place = mount / group.substr(1);
  if (v2) return {textOf(place / "memory.max"), textOf(place / "memory.current"), textOf(place / "memory.stat")};
  return {textOf(place / "memory.limit_in_bytes"), textOf(place / "memory.usage_in_bytes"), textOf(place / "memory.stat")};
}

std::string gib(Bytes bytes) { return fmt::format("{:.2f} GiB", double(bytes.count()) / double((1_GiB).count())); }

}  // namespace

std::optional<Bytes> memAvailable(std::string_view meminfo) {
  std::optional<Bytes> found;
  eachLine(meminfo, [&](std::string_view line) {
    constexpr std::string_view kName = "MemAvailable:", kUnit = "kB";
    if (line.substr(0, kName.size()) != kName) return;
    std::string_view value = trimmed(line.substr(kName.size()));
    if (value.size() < kUnit.size() || value.substr(value.size() - kUnit.size()) != kUnit) return;
    value.remove_suffix(kUnit.size());
    const std::optional<std::uint64_t> kib = number(trimmed(value));
    if (kib && *kib < kNoLimit / 1024) found = Bytes(*kib * 1024);
  });
  return found;
}

std::optional<Bytes> cgroupRoom(const CgroupTexts& texts) {
  const std::optional<std::uint64_t> limit = number(trimmed(texts.limit));  // "max" is no number
  const std::optional<std::uint64_t> usage = number(trimmed(texts.usage));
  if (!limit || !usage || *limit >= kNoLimit) return std::nullopt;
  // v1 counts a group's children under total_ alone; v2's figures include them.
  const std::optional<std::uint64_t> total = fieldOf(texts.stat, "total_inactive_file");
  const std::uint64_t inactive = std::min(total ? *total : fieldOf(texts.stat, "inactive_file").value_or(0), *usage);
  const std::uint64_t held = *usage - inactive;
  return Bytes(*limit > held ? *limit - held : 0);
}

std::vector<CgroupPlace> cgroupPlaces(std::string_view self_cgroup) {
  std::vector<CgroupPlace> places;
  eachLine(self_cgroup, [&](std::string_view line) {
    const std::size_t first = line.find(':');
    const std::size_t second = first == std::string_view::npos ? first : line.find(':', first + 1);
    if (second == std::string_view::npos) return;
    const std::string_view controllers = line.substr(first + 1, second - first - 1), path = line.substr(second + 1);
    if (path.empty() || path[0] != '/') return;
    if (line.substr(0, first) == "0" && controllers.empty()) {
      places.push_back({true, std::string(path)});
    } else if ((std::string(",") + std::string(controllers) + ",").find(",memory,") != std::string::npos) {
      places.insert(places.begin(), {false, std::string(path)});
    }
  });
  return places;
}

Result<AvailableMemory> availableMemory(const std::filesystem::path& root) {
  const std::filesystem::path meminfo = root / "proc/meminfo";
  const std::optional<Bytes> machine = memAvailable(TRY(readWholeFile(meminfo, kTextMax)));
  if (!machine) return Error{Errc::Io, fmt::format("{} has no line MemAvailable: say with --ram how much memory may be used", meminfo.string())};
  AvailableMemory available{*machine, "MemAvailable"};
  for (const CgroupPlace& place : cgroupPlaces(textOf(root / "proc/self/cgroup"))) {
    const std::filesystem::path mount = root / (place.v2 ? "sys/fs/cgroup" : "sys/fs/cgroup/memory");
    // In a container the path may be the host's and lead nowhere here; its ancestors, at last the mount's own root, are tried all the same.
    for (std::string group = place.path;; group.resize(std::max<std::size_t>(group.rfind('/'), 1))) {
      const std::optional<Bytes> room = cgroupRoom(readGroup(mount, place.v2, group));
      if (room && *room < available.bytes) available = {*room, fmt::format("the memory limit of control group {}", group)};
      if (group == "/") break;
    }
  }
  return available;
}

Bytes memoryMargin(Bytes available) {
  return Bytes(std::min(std::max(available.count() / 20, (256_MiB).count()), available.count() / 2));
}

MemoryBudget MemoryBudget::automatic(const AvailableMemory& available) {
  const Bytes margin = memoryMargin(available.bytes);
  return {available.bytes - margin, fmt::format("{}, {}, less a margin of {}", gib(available.bytes), available.limited_by, gib(margin))};
}

void MemoryBudget::reserve(std::string_view name, Bytes bytes) {
  const auto item = std::find_if(items_.begin(), items_.end(), [&](const BudgetItem& i) { return i.name == name; });
  if (item == items_.end()) {
    items_.push_back({std::string(name), bytes});
  } else {
    item->bytes += bytes;
  }
}

Bytes MemoryBudget::reserved() const {
  Bytes sum{0};
  for (const BudgetItem& item : items_) sum += item.bytes;
  return sum;
}

Error MemoryBudget::refusal(const std::vector<BudgetItem>& needed) const {
  Bytes least{0};
  std::string table;
  for (const BudgetItem& item : needed) {
    least += item.bytes;
    table += fmt::format("\n  {:<24}{:>16} bytes  {:>12}", item.name, item.bytes.count(), gib(item.bytes));
  }
  const std::uint64_t least_mib = roundUp(least.count(), (1_MiB).count()) / (1_MiB).count();
  return Error{Errc::OutOfBudget, fmt::format("the memory budget of {} bytes ({}; {}) is too small: at least {} bytes are needed, so --ram {}MiB or more{}\n  "
                                              "{:<24}{:>16} bytes  {:>12}",
                                              total_.count(), gib(total_), source_, least.count(), least_mib, table, "least total", least.count(), gib(least))};
}

Result<Done> MemoryBudget::check() const {
  if (reserved() > total_) return refusal(items_);
  return Done{};
}

Result<Bytes> MemoryBudget::takeRest(std::string_view name, Bytes least, Bytes most) {
  if (reserved() > total_ || left() < least) {
    std::vector<BudgetItem> needed = items_;
    needed.push_back({std::string(name), least});
    return refusal(needed);
  }
  const Bytes given = std::min(left(), most);
  reserve(name, given);
  return given;
}

}  // namespace sluice
