#include "core/text/jinja/strings.h"

#include <algorithm>
#include <cstring>

#include "core/text/jinja/unicode.h"

namespace sluice::jinja {

Text inCase(const Text& text, Case to) {
  Text out;
  const std::string_view view = text.view();
  bool word_start = true;  // Title: no cased character just before; Capitalize: at the first
  for (std::size_t at = 0; at < view.size();) {
    const CodePoint c = decodeAt(view, at);
    const auto lower = [&] { return lowerOf(c.code, c.code == 0x3A3 && isFinalSigma(view, at)); };
    std::string piece;
    switch (to) {
      case Case::Upper: piece = upperOf(c.code); break;
      case Case::Lower: piece = lower(); break;
      case Case::Fold: piece = foldOf(c.code); break;
      case Case::Swap: piece = isUpper(c.code) ? lower() : isLower(c.code) ? upperOf(c.code) : std::string(view.substr(at, c.bytes)); break;
      case Case::Capitalize:
      case Case::Title: piece = word_start ? titleOf(c.code) : lower(); break;
    }
    word_start = to == Case::Title && !isCased(c.code);
    if (c.code == 0xFFFD && c.bytes == 1) piece = std::string(view.substr(at, 1));  // a stray byte stays itself
    out.append(piece, text.markupAt(at));
    at += c.bytes;
  }
  return out;
}

Text stripped(const Text& text, const std::optional<std::string>& set, Side side) {
  const std::string_view view = text.view();
  std::vector<char32_t> wanted;
  if (set)
    for (std::size_t at = 0; at < set->size(); at += decodeAt(*set, at).bytes) wanted.push_back(decodeAt(*set, at).code);
  std::sort(wanted.begin(), wanted.end());
  const auto goes = [&](char32_t code) { return set ? std::binary_search(wanted.begin(), wanted.end(), code) : isSpace(code); };
  std::size_t from = 0, end = view.size();
  if (side != Side::Right)
    while (from < end && goes(decodeAt(view, from).code)) from += decodeAt(view, from).bytes;
  if (side != Side::Left)
    while (end > from && goes(decodeAt(view, characterBefore(view, end)).code)) end = characterBefore(view, end);
  return text.slice(from, end - from);
}

Result<std::vector<Text>> splitAt(Run& run, const Text& text, const std::optional<std::string>& separator, std::int64_t limit) {
  TRY(run.touch(text.size() * 4));
  std::vector<Text> pieces;
  const std::string_view view = text.view();
  std::size_t from = 0;
  const auto room = [&] { return limit < 0 || static_cast<std::int64_t>(pieces.size()) < limit; };
  if (separator) {
    while (room()) {
      const std::size_t found = findBytes(view, *separator, from);
      if (found == std::string_view::npos) break;
      TRY(run.step());
      if ((pieces.size() & 1023) == 1023) TRY(run.ask(pieces.size() * 2 * sizeof(StringObject)));
      pieces.push_back(text.slice(from, found - from));
      from = found + separator->size();
    }
    pieces.push_back(text.slice(from, view.size() - from));
    return pieces;
  }
  const auto skip = [&](std::size_t at, bool space) {
    while (at < view.size() && isSpace(decodeAt(view, at).code) == space) at += decodeAt(view, at).bytes;
    return at;
  };
  for (from = skip(0, true); from < view.size(); from = skip(from, true)) {
    TRY(run.step());
    if ((pieces.size() & 1023) == 1023) TRY(run.ask(pieces.size() * 2 * sizeof(StringObject)));
    if (!room()) {
      pieces.push_back(text.slice(from, view.size() - from));
      break;
    }
    const std::size_t end = skip(from, false);
    pieces.push_back(text.slice(from, end - from));
    from = end;
  }
  return pieces;
}

Result<std::size_t> findLast(Run& run, std::string_view text, std::string_view needle, std::size_t from, std::size_t end) {
  if (from > end || end > text.size() || needle.size() > end - from) return std::string_view::npos;
  for (std::size_t at = end - needle.size() + 1; at > from; --at) {
    const std::size_t start = at - 1;
    if (!needle.empty() && (text[start] != needle.front() || text[start + needle.size() - 1] != needle.back())) continue;
    TRY(run.touch(needle.size()));
    if (text.compare(start, needle.size(), needle) == 0) return start;
  }
  return std::string_view::npos;
}

Result<std::vector<Text>> splitAtFromRight(Run& run, const Text& text, const std::optional<std::string>& separator, std::int64_t limit) {
  if (limit < 0) return splitAt(run, text, separator, limit);
  TRY(run.touch(text.size() * 4));
  std::vector<Text> pieces;
  const std::string_view view = text.view();
  std::size_t end = view.size();
  if (separator) {
    for (; static_cast<std::int64_t>(pieces.size()) < limit;) {
      const std::size_t found = TRY(findLast(run, view, *separator, 0, end));
      if (found == std::string_view::npos) break;
      TRY(run.step());
      pieces.push_back(text.slice(found + separator->size(), end - found - separator->size()));
      end = found;
    }
    pieces.push_back(text.slice(0, end));
  } else {
    const auto back = [&](std::size_t at, bool space) {
      while (at > 0 && isSpace(decodeAt(view, characterBefore(view, at)).code) == space) at = characterBefore(view, at);
      return at;
    };
    for (end = back(end, true); end > 0; end = back(end, true)) {
      TRY(run.step());
      if (static_cast<std::int64_t>(pieces.size()) >= limit) {
        pieces.push_back(text.slice(0, end));
        break;
      }
      const std::size_t start = back(end, false);
      pieces.push_back(text.slice(start, end - start));
      end = start;
    }
  }
  std::reverse(pieces.begin(), pieces.end());
  return pieces;
}

std::vector<Text> splitLines(const Text& text, bool keep_ends) {
  std::vector<Text> lines;
  const std::string_view view = text.view();
  std::size_t from = 0;
  for (std::size_t at = 0; at < view.size();) {
    const CodePoint c = decodeAt(view, at);
    if (!isLineBreak(c.code)) {
      at += c.bytes;
      continue;
    }
    std::size_t next = at + c.bytes;
    if (c.code == '\r' && next < view.size() && view[next] == '\n') ++next;
    lines.push_back(text.slice(from, (keep_ends ? next : at) - from));
    from = at = next;
  }
  if (from < view.size()) lines.push_back(text.slice(from, view.size() - from));
  return lines;
}

Result<Text> replaced(Run& run, const Text& text, const Text& from, const Text& to, std::int64_t limit) {
  TRY(run.touch(text.size() * 4));
  const std::string_view view = text.view();
  Text out;
  std::size_t at = 0;
  const auto put = [&]() -> Result<Done> {
    TRY(run.touch(to.size()));
    TRY(run.ask(2 * (out.weight() + to.weight())));
    out.append(to);
    return Done{};
  };
  if (from.empty()) {  // between all characters, and at both ends
    for (std::int64_t done = 0; limit < 0 || done < limit; ++done) {
      TRY(put());
      if (at >= view.size()) return out;
      const std::size_t bytes = decodeAt(view, at).bytes;
      out.append(text, at, bytes);
      at += bytes;
    }
  } else {
    for (std::int64_t done = 0; limit < 0 || done < limit; ++done) {
      const std::size_t found = findBytes(view, from.view(), at);
      if (found == std::string_view::npos) break;
      out.append(text, at, found - at);
      TRY(put());
      at = found + from.size();
    }
  }
  out.append(text, at, view.size() - at);
  return out;
}

}  // namespace sluice::jinja
