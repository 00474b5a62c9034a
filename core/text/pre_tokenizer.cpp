#include "core/text/pre_tokenizer.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "core/text/byte_alphabet.h"
#include "core/text/regex_rewrite.h"
#include "core/text/utf8.h"

namespace sluice {
namespace {

using Range = PreTokenizer::Scratch::Range;

// Sequences within Sequences beyond this are nobody's.
constexpr int kDepthMax = 8;
constexpr std::size_t kStepsMax = 64;
// GPT-2's, which a ByteLevel with use_regex brings along.
constexpr std::string_view kByteLevelPattern = R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";

Result<SplitBehaviour> behaviourOf(const JsonNode& node) {
  const std::string_view name = TRY(node.string());
  if (name == "Removed") return SplitBehaviour::Removed;
  if (name == "Isolated") return SplitBehaviour::Isolated;
  if (name == "MergedWithPrevious") return SplitBehaviour::MergedWithPrevious;
  if (name == "MergedWithNext") return SplitBehaviour::MergedWithNext;
  if (name == "Contiguous") return SplitBehaviour::Contiguous;
  return node.unsupported(fmt::format("the behaviour '{}' is not known", name));
}

// Every character as an escape: a text that matches itself.
std::string literalPattern(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size();) {
    const CodePoint c = codePointAt(text, i);
    out += fmt::format("\\x{{{:X}}}", std::uint32_t(c.value));
    i += std::size_t(c.bytes);
  }
  return out;
}

// Joins neighbours among `ranges`, which cover one piece without gaps, as the behaviour says. After it, found means: to be dropped.
void arrange(SplitBehaviour behaviour, std::vector<Range>& ranges) {
  const auto fold = [&](auto&& joins) {
    std::size_t kept = 0;
    bool before = false;
    for (const Range r : ranges) {
      if (kept > 0 && joins(r.found, before)) ranges[kept - 1].end = r.end;
      else ranges[kept++] = {r.begin, r.end, false};
      before = r.found;
    }
    ranges.resize(kept);
  };
  switch (behaviour) {
    case SplitBehaviour::Removed: return;
    case SplitBehaviour::Isolated:
      for (Range& r : ranges) r.found = false;
      return;
    case SplitBehaviour::Contiguous: return fold([](bool found, bool before) { return found == before; });
    case SplitBehaviour::MergedWithPrevious: return fold([](bool found, bool before) { return found && !before; });
    case SplitBehaviour::MergedWithNext: {
      std::size_t kept = ranges.size();
      bool after = false;
      for (std::size_t i = ranges.size(); i-- > 0;) {
        const Range r = ranges[i];
        if (kept < ranges.size() && r.found && !after) ranges[kept].begin = r.begin;
        else ranges[--kept] = {r.begin, r.end, false};
        after = r.found;
      }
      ranges.erase(ranges.begin(), ranges.begin() + std::ptrdiff_t(kept));
      return;
    }
  }
  UNREACHABLE();
}

}  // namespace

Result<PreTokenizer> PreTokenizer::read(const JsonNode& node) {
  PreTokenizer p;
  TRY(p.readStep(node, 0));
  const auto byte_levels = std::count_if(p.steps_.begin(), p.steps_.end(), [](const Step& s) { return s.byte_level; });
  if (byte_levels != 1)
    return node.unsupported(fmt::format("{} ByteLevel steps, where a byte-level tokenizer has one: this build reads no other kind", byte_levels));
  return p;
}

Result<Done> PreTokenizer::addSplit(const JsonNode& node, std::string_view pcre_pattern, SplitBehaviour behaviour, bool invert) {
  if (steps_.size() >= kStepsMax) return node.unsupported(fmt::format("more than {} steps", kStepsMax));
  Result<SplitRegex> regex = SplitRegex::compile(pcre_pattern);
  if (!regex.ok()) return node.complain(regex.error().code, regex.error().what);
  steps_.push_back({std::move(regex).value(), behaviour, invert, false, false});
  return Done{};
}

Result<Done> PreTokenizer::readStep(const JsonNode& node, int depth) {
  const std::string_view type = TRY(node.type());
  if (type == "Sequence") {
    if (depth >= kDepthMax) return node.unsupported(fmt::format("Sequences nested deeper than {}", kDepthMax));
    const JsonNode list = TRY(node.member("pretokenizers"));
    for (const JsonNode& step : TRY(list.elements())) TRY(readStep(step, depth + 1));
    return Done{};
  }
  if (type == "ByteLevel") {
    const bool use_regex = TRY(node.flag("use_regex", true));
    if (use_regex) {
      TRY(addSplit(node, rewriteForPcre2(kByteLevelPattern).value(), SplitBehaviour::Isolated, false));
    } else {
      steps_.emplace_back();
    }
    steps_.back().byte_level = true;
    steps_.back().add_prefix_space = TRY(node.flag("add_prefix_space", true));
    return Done{};
  }
  if (type == "Split") {
    const JsonNode pattern = TRY(node.member("pattern"));
    const auto regex = TRY(pattern.optional("Regex"));
    const auto literal = TRY(pattern.optional("String"));
    if (regex.has_value() == literal.has_value()) return pattern.corrupt("neither or both of 'Regex' and 'String'");
    const JsonNode behaviour_node = TRY(node.member("behavior"));
    const SplitBehaviour behaviour = TRY(behaviourOf(behaviour_node));
    const bool invert = TRY(node.flag("invert", false));
    if (literal) return addSplit(*literal, literalPattern(TRY(literal->string())), behaviour, invert);
    const Result<std::string> rewritten = rewriteForPcre2(TRY(regex->string()));
    if (!rewritten.ok()) return regex->complain(rewritten.error().code, rewritten.error().what);
    return addSplit(*regex, rewritten.value(), behaviour, invert);
  }
  if (type == "Digits")
    return addSplit(node, fmt::format("[{}]", digitBody()), TRY(node.flag("individual_digits", false)) ? SplitBehaviour::Isolated : SplitBehaviour::Contiguous, false);
  if (type == "Punctuation") {
    const auto behaviour = TRY(node.optional("behavior"));
    return addSplit(node, punctuationPattern(), behaviour ? TRY(behaviourOf(*behaviour)) : SplitBehaviour::Isolated, false);
  }
  if (type == "Whitespace") return addSplit(node, fmt::format("[{0}]+|[^{0}{1}]+", tokenWordBody(), spaceBody()), SplitBehaviour::Removed, true);
  if (type == "WhitespaceSplit") return addSplit(node, fmt::format("[{}]", spaceBody()), SplitBehaviour::Removed, false);
  return node.unsupported(fmt::format("the pre-tokenizer '{}' is not read by this build, which reads byte-level BPE", type));
}

// Cuts scratch.pieces of `text` by the step's pattern.
Result<Done> PreTokenizer::cut(const Step& step, std::string_view text, Scratch& scratch) {
  scratch.next_pieces.clear();
  const bool isolates = step.behaviour == SplitBehaviour::Isolated;
  for (const Range& piece : scratch.pieces) {
    const std::string_view subject = text.substr(piece.begin, piece.end - piece.begin);
    std::vector<Range>& ranges = isolates ? scratch.next_pieces : scratch.ranges;
    if (!isolates) ranges.clear();
    std::size_t done = 0, from = 0;
    std::size_t last_end = std::string_view::npos;
    while (from <= subject.size()) {
      std::size_t begin = 0, end = 0;
      const SplitRegex::Found found = step.regex->find(scratch.run, subject, from, begin, end);
      if (found == SplitRegex::Found::No) break;
      if (found == SplitRegex::Found::GaveUp || end < begin)
        return Error{Errc::BadRequest, fmt::format("the tokenizer's split pattern gave up on this text, {} bytes into a stretch of {}", from, subject.size())};
      if (begin == end && begin == last_end) {
        // An empty match right behind the last one does not count; look on from the next character.
        from += from < subject.size() ? std::size_t(codePointAt(subject, from).bytes) : 1;
        continue;
      }
      if (done < begin) ranges.push_back({piece.begin + done, piece.begin + begin, step.invert});
      ranges.push_back({piece.begin + begin, piece.begin + end, !step.invert});
      done = from = last_end = end;
    }
    if (done < subject.size()) ranges.push_back({piece.begin + done, piece.end, step.invert});
    if (isolates) continue;
    arrange(step.behaviour, ranges);
    for (const Range& r : ranges)
      if (!r.found && r.begin < r.end) scratch.next_pieces.push_back(r);
  }
  if (isolates) std::erase_if(scratch.next_pieces, [](const Range& r) { return r.begin == r.end; });
  std::swap(scratch.pieces, scratch.next_pieces);
  return Done{};
}

// Puts a space before every piece that has none, in a new text.
void PreTokenizer::prefixSpaces(std::string_view text, Scratch& scratch) {
  scratch.next_text.clear();
  for (Range& piece : scratch.pieces) {
    const std::string_view old = text.substr(piece.begin, piece.end - piece.begin);
    piece.begin = scratch.next_text.size();
    if (!old.starts_with(' ')) scratch.next_text += ' ';
    scratch.next_text += old;
    piece.end = scratch.next_text.size();
  }
  std::swap(scratch.text, scratch.next_text);
}

// Spells every piece in the byte alphabet, in a new text: what steps after ByteLevel see.
void PreTokenizer::spellPieces(std::string_view text, Scratch& scratch) {
  scratch.next_text.clear();
  for (Range& piece : scratch.pieces) {
    const std::string_view old = text.substr(piece.begin, piece.end - piece.begin);
    piece.begin = scratch.next_text.size();
    spell(old, scratch.next_text);
    piece.end = scratch.next_text.size();
  }
  std::swap(scratch.text, scratch.next_text);
}

Result<Done> PreTokenizer::split(std::string_view text, Scratch& scratch, std::vector<std::string_view>& pieces) const {
  pieces.clear();
  scratch.pieces.clear();
  if (text.empty()) return Done{};
  scratch.pieces.push_back({0, text.size(), false});
  bool spelled = false;
  for (const Step& step : steps_) {
    if (step.byte_level && step.add_prefix_space) {
      prefixSpaces(text, scratch);
      text = scratch.text;
    }
    if (step.regex) TRY(cut(step, text, scratch));
    if (step.byte_level && &step != &steps_.back()) {
      spellPieces(text, scratch);
      text = scratch.text;
      spelled = true;
    }
  }
  if (spelled) {
    scratch.next_text.clear();
    for (Range& piece : scratch.pieces) {
      const std::size_t begin = scratch.next_text.size();
      CHECK(unspell(text.substr(piece.begin, piece.end - piece.begin), scratch.next_text));
      piece = {begin, scratch.next_text.size(), false};
    }
    std::swap(scratch.text, scratch.next_text);
    text = scratch.text;
  }
  for (const Range& piece : scratch.pieces) pieces.push_back(text.substr(piece.begin, piece.end - piece.begin));
  return Done{};
}

}  // namespace sluice
