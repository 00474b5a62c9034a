#include "core/text/nfc.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

#include <utf8proc.h>

#include "core/base/check.h"
#include "core/text/unicode_gap.h"
#include "core/text/utf8.h"

namespace sluice {
namespace {

constexpr char32_t kHangulL = 0x1100, kHangulV = 0x1161, kHangulT = 0x11A7, kHangulS = 0xAC00;
constexpr char32_t kHangulLs = 19, kHangulVs = 21, kHangulTs = 28, kHangulSs = kHangulLs * kHangulVs * kHangulTs;
constexpr auto kNoIndex = std::numeric_limits<std::uint16_t>::max();  // utf8proc: takes no part in composition, or does not decompose

struct Letter {
  char32_t value;
  int combining;  // canonical combining class
  bool markup;
};

int combiningClass(char32_t c) {
  if (c < 0x300 || contains(inertInNfc(), c)) return 0;
  return utf8proc_get_property(utf8proc_int32_t(c))->combining_class;
}

// True if NFC leaves `c` alone and whatever stands before it too.
bool standsAlone(char32_t c) {
  if (c < 0x300) return true;  // the first combining mark
  if (contains(inertInNfc(), c)) return true;
  if ((kHangulV <= c && c < kHangulV + kHangulVs) || (kHangulT < c && c < kHangulT + kHangulTs)) return false;
  const utf8proc_property_t* p = utf8proc_get_property(utf8proc_int32_t(c));
  return p->combining_class == 0 && p->comb_index == kNoIndex && p->decomp_seqindex == kNoIndex;
}

void decompose(char32_t c, bool markup, std::vector<Letter>& out) {
  if (contains(inertInNfc(), c)) {
    out.push_back({c, 0, markup});
    return;
  }
  utf8proc_int32_t parts[32];
  int boundary = 0;
  const auto count = utf8proc_decompose_char(utf8proc_int32_t(c), parts, 32, UTF8PROC_DECOMPOSE, &boundary);
  CHECK(1 <= count && count <= 32);  // canonical decompositions have 4 parts at most
  for (utf8proc_ssize_t i = 0; i < count; ++i) out.push_back({char32_t(parts[i]), combiningClass(char32_t(parts[i])), markup});
}

std::optional<char32_t> composite(char32_t first, char32_t second) {
  if (kHangulL <= first && first < kHangulL + kHangulLs && kHangulV <= second && second < kHangulV + kHangulVs)
    return kHangulS + ((first - kHangulL) * kHangulVs + (second - kHangulV)) * kHangulTs;
  if (kHangulS <= first && first < kHangulS + kHangulSs && (first - kHangulS) % kHangulTs == 0 && kHangulT < second && second < kHangulT + kHangulTs)
    return first + (second - kHangulT);
  if (contains(inertInNfc(), first) || contains(inertInNfc(), second)) return std::nullopt;
  utf8proc_int32_t pair[2] = {utf8proc_int32_t(first), utf8proc_int32_t(second)};
  if (utf8proc_normalize_utf32(pair, 2, static_cast<utf8proc_option_t>(UTF8PROC_COMPOSE | UTF8PROC_STABLE)) != 1) return std::nullopt;
  if (contains(inertInNfc(), char32_t(pair[0]))) return std::nullopt;
  return char32_t(pair[0]);
}

// Canonical order and composition of one cluster, in place.
void compose(std::vector<Letter>& letters) {
  for (auto begin = letters.begin(); begin != letters.end();) {
    if (begin->combining == 0) {
      ++begin;
      continue;
    }
    const auto end = std::find_if(begin, letters.end(), [](const Letter& l) { return l.combining == 0; });
    std::stable_sort(begin, end, [](const Letter& a, const Letter& b) { return a.combining < b.combining; });
    begin = end;
  }
  std::size_t kept = 0;
  std::optional<std::size_t> starter;
  int blocking = -1;  // class of the last letter kept after the starter, -1 for none
  for (const Letter letter : letters) {
    if (starter && blocking < letter.combining) {
      if (const auto whole = composite(letters[*starter].value, letter.value)) {
        letters[*starter].value = *whole;
        letters[*starter].markup = letters[*starter].markup && letter.markup;
        continue;
      }
    }
    if (letter.combining == 0) {
      starter = kept;
      blocking = -1;
    } else {
      blocking = letter.combining;
    }
    letters[kept++] = letter;
  }
  letters.resize(kept);
}

}  // namespace

void appendNfc(std::string_view text, const AuthoredRuns& runs, std::size_t begin, std::size_t end, std::string& out, AuthoredRuns& out_runs) {
  const auto copy = [&](std::size_t from, std::size_t to) {
    out.append(text.substr(from, to - from));
    while (from < to) {
      const std::size_t run_end = std::min(to, runs.runEnd(from));
      out_runs.append(run_end - from, runs.markupAt(from));
      from = run_end;
    }
  };
  std::vector<Letter> cluster;
  std::size_t plain = begin;  // from here to `at` nothing changes
  std::size_t at = begin;
  while (at < end) {
    // A cluster: a character and all after it that do not stand alone.
    const CodePoint first = codePointAt(text, at);
    const std::size_t cluster_begin = at;
    at += std::size_t(first.bytes);
    if (at == end || standsAlone(codePointAt(text, at).value)) {
      if (standsAlone(first.value)) continue;
    }
    while (at < end) {
      const CodePoint c = codePointAt(text, at);
      if (standsAlone(c.value)) break;
      at += std::size_t(c.bytes);
    }
    copy(plain, cluster_begin);
    plain = at;
    cluster.clear();
    for (std::size_t k = cluster_begin; k < at;) {
      const CodePoint c = codePointAt(text, k);
      decompose(c.value, runs.markupAt(k), cluster);
      k += std::size_t(c.bytes);
    }
    compose(cluster);
    for (const Letter& l : cluster) {
      const std::size_t before = out.size();
      appendUtf8(out, l.value);
      out_runs.append(out.size() - before, l.markup);
    }
  }
  copy(plain, end);
}

}  // namespace sluice
