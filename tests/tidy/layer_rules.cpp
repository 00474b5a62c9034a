#include "tests/tidy/layer_rules.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>

namespace sluice::tidy {

namespace {

using Names = std::vector<std::string_view>;

struct Room {
  std::string_view name;
  Names may_include;  // itself is understood
};

// What docs/ARCHITECTURE.md 1 says, in its order.
const std::vector<Room>& rooms() {
  static const Names kCore = {"core/base", "core/ports", "core/format", "core/text", "core/model", "core/run"};
  static const Names kBelowTests = {"core/base", "core/ports", "core/format", "core/text", "core/model", "core/run",
                                    "simd",      "kv",         "stream",      "mtp",       "cli/serve"};
  static const std::vector<Room> kRooms = {
      {"core/base", {}},
      {"core/ports", {"core/base"}},
      {"core/format", {"core/base", "core/ports"}},
      {"core/text", {"core/base"}},
      {"core/model", {"core/base", "core/ports", "core/format"}},
      {"core/run", {"core/base", "core/ports", "core/format", "core/text", "core/model"}},
      {"simd", {"core/base", "core/ports"}},
      {"kv", {"core/base", "core/ports"}},
      {"stream", {"core/base", "core/ports", "core/format"}},
      {"mtp", {"core/base", "core/ports", "core/model"}},
      {"cli/serve", kCore},
      {"cli", kBelowTests},
      {"tests", kBelowTests},
  };
  return kRooms;
}

const Room* findRoom(std::string_view name) {
  const auto it = std::find_if(rooms().begin(), rooms().end(), [&](const Room& room) { return room.name == name; });
  return it == rooms().end() ? nullptr : &*it;
}

bool mayInclude(std::string_view from, std::string_view to) {
  if (from == to || (from == "tests" && to == "cli")) return true;  // tests may include everything
  const Room* room = findRoom(from);
  return room != nullptr && std::find(room->may_include.begin(), room->may_include.end(), to) != room->may_include.end();
}

struct ThirdParty {
  std::string_view prefix;  // of the header's name
  Names rooms;
};

// Whoever adds a dependency adds its line here and in THIRD_PARTY.md.
const std::vector<ThirdParty>& thirdParties() {
  static const std::vector<ThirdParty> kThirdParties = {
      {"fmt/", {"core/base", "core/ports", "core/format", "core/text", "core/model", "core/run", "simd", "kv", "stream", "mtp", "cli/serve", "cli", "tests"}},
      {"omp.h", {"core/base"}},
      {"simdjson.h", {"core/format", "core/text", "cli", "tests"}},
      {"nlohmann/", {"core/text", "core/run", "cli/serve", "cli", "tests"}},
      {"pcre2.h", {"core/text"}},
      {"utf8proc.h", {"core/text"}},
      {"liburing.h", {"stream"}},
      {"xxhash.h", {"stream", "cli", "tests"}},
      {"immintrin.h", {"simd", "tests"}},
      {"emmintrin.h", {"simd", "tests"}},
      {"openssl/", {"tests"}},
      {"xsimd/", {"simd"}},
      {"editline/", {"cli"}},
      {"cpuid.h", {"simd"}},
      {"CLI/", {"cli", "tests"}},
      {"mimalloc", {"cli"}},
      {"simde/", {"tests"}},
      {"gtest/", {"tests"}},
      {"gmock/", {"tests"}},
  };
  return kThirdParties;
}

bool isStandardOrPosix(std::string_view header) {
  static const std::set<std::string_view> kPosix = {"fcntl.h", "unistd.h", "signal.h", "dirent.h", "poll.h",  "pthread.h", "sched.h",
                                                    "termios.h", "time.h",  "errno.h",  "string.h", "fenv.h", "spawn.h",   "strings.h", "stdlib.h"};
  if (header.find('.') == std::string_view::npos && header.find('/') == std::string_view::npos) return true;
  return header.starts_with("sys/") || header.starts_with("linux/") || header.starts_with("asm/") || kPosix.contains(header);
}

// The name between the marks of an #include line; empty where the line is none.
std::string_view includedName(std::string_view line, char open, char close) {
  if (!line.starts_with("#include")) return {};
  const std::size_t begin = line.find(open);
  const std::size_t end = begin == std::string_view::npos ? begin : line.find(close, begin + 1);
  return end == std::string_view::npos ? std::string_view() : line.substr(begin + 1, end - begin - 1);
}

// The library targets of the rooms are named after them: core_base, simd, cli_serve.
std::string targetOf(std::string_view room) {
  std::string target(room);
  std::replace(target.begin(), target.end(), '/', '_');
  return target;
}

std::vector<std::string> wordsOf(std::string_view text) {
  std::vector<std::string> words(1);
  for (const char c : text) {
    if (c == ' ' || c == '\n' || c == '\t' || c == '(' || c == ')') {
      if (!words.back().empty()) words.emplace_back();
    } else {
      words.back() += c;
    }
  }
  if (words.back().empty()) words.pop_back();
  return words;
}

// Rooms that the CMakeLists.txt text links, by name, from any of its targets.
std::set<std::string_view> linkedRooms(std::string_view cmake) {
  std::string text;
  for (const std::string_view line : linesOf(cmake)) text += std::string(line.substr(0, line.find('#'))) + "\n";
  std::set<std::string_view> linked;
  constexpr std::string_view kCommand = "target_link_libraries(";
  for (std::size_t at = text.find(kCommand); at != std::string::npos; at = text.find(kCommand, at + 1)) {
    const std::size_t begin = at + kCommand.size();
    const std::vector<std::string> words = wordsOf(std::string_view(text).substr(begin, text.find(')', begin) - begin));
    for (std::size_t i = 1; i < words.size(); ++i) {
      for (const Room& room : rooms()) {
        if (words[i] == targetOf(room.name)) linked.insert(room.name);
      }
    }
  }
  return linked;
}

}  // namespace

std::string_view roomOf(std::string_view path) {
  std::string_view best;
  for (const Room& room : rooms()) {
    if (path.starts_with(room.name) && path.size() > room.name.size() && path[room.name.size()] == '/' && room.name.size() > best.size()) best = room.name;
  }
  return best;
}

std::vector<Finding> includesAgainstTheTable(const Tree& tree) {
  std::vector<Finding> findings;
  for (const SourceFile& file : tree.files) {
    if (!isCode(file.path)) continue;
    const std::string_view from = roomOf(file.path);
    if (from.empty()) findings.push_back({file.path, 0, "lies in no room of docs/ARCHITECTURE.md"});
    const std::string code = codeOnly(file.text);
    int number = 0;
    for (const std::string_view line : linesOf(code)) {
      ++number;
      const std::string_view name = includedName(line, '"', '"');
      if (name.empty()) continue;
      const std::string_view to = roomOf(name);
      if (to.empty()) {
        findings.push_back({file.path, number, "include \"" + std::string(name) + "\" from the repository's root, by its room"});
      } else if (!mayInclude(from, to)) {
        findings.push_back({file.path, number, std::string(from) + " may not include " + std::string(to) + " (docs/ARCHITECTURE.md, the table)"});
      }
    }
  }
  return findings;
}

std::vector<Finding> thirdPartyOutsideItsRooms(const Tree& tree) {
  std::vector<Finding> findings;
  for (const SourceFile& file : tree.files) {
    if (!isCode(file.path)) continue;
    const std::string_view from = roomOf(file.path);
    const std::string code = codeOnly(file.text);
    int number = 0;
    for (const std::string_view line : linesOf(code)) {
      ++number;
      const std::string_view name = includedName(line, '<', '>');
      if (name.empty() || isStandardOrPosix(name)) continue;
      const auto known = std::find_if(thirdParties().begin(), thirdParties().end(), [&](const ThirdParty& t) { return name.starts_with(t.prefix); });
      if (known == thirdParties().end()) {
        findings.push_back({file.path, number, "<" + std::string(name) + "> is no dependency of ours (THIRD_PARTY.md, tests/tidy/layer_rules.cpp)"});
      } else if (std::find(known->rooms.begin(), known->rooms.end(), from) == known->rooms.end()) {
        findings.push_back({file.path, number, "<" + std::string(name) + "> does not belong in " + std::string(from) + " (tests/tidy/layer_rules.cpp)"});
      }
    }
  }
  return findings;
}

std::vector<Finding> linkEdgesAgainstTheTable(const Tree& tree) {
  std::vector<Finding> findings;
  std::map<std::string_view, std::set<std::string_view>> edges;
  for (const Room& room : rooms()) {
    const std::string path = std::string(room.name) + "/CMakeLists.txt";
    if (tree.find(path) == nullptr || room.name == "tests") continue;
    std::set<std::string_view>& linked = edges[room.name];
    for (const SourceFile& file : tree.files) {
      if (isCMake(file.path) && roomOf(file.path) == room.name) linked.merge(linkedRooms(file.text));
    }
    linked.erase(room.name);
    for (const std::string_view to : linked) {
      if (!mayInclude(room.name, to)) findings.push_back({path, 0, std::string(room.name) + " may not link " + std::string(to)});
    }
  }
  for (const auto& [room, direct] : edges) {
    std::set<std::string_view> reached = direct;
    std::vector<std::string_view> open(direct.begin(), direct.end());
    while (!open.empty()) {
      const std::string_view at = open.back();
      open.pop_back();
      const auto onward = edges.find(at);
      if (onward == edges.end()) continue;
      for (const std::string_view next : onward->second) {
        if (reached.insert(next).second) open.push_back(next);
      }
    }
    for (const std::string_view wanted : findRoom(room)->may_include) {
      const bool exists = tree.find(std::string(wanted) + "/CMakeLists.txt") != nullptr;
      if (exists && !reached.contains(wanted)) {
        findings.push_back({std::string(room) + "/CMakeLists.txt", 0, std::string(room) + " does not link " + std::string(wanted) + ", which its row of the table names"});
      }
    }
  }
  return findings;
}

}  // namespace sluice::tidy
