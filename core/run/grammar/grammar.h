#pragma once
// A grammar over bytes, and where a text stands in it. Built from a GBNF-like text (gbnf.h) or a JSON schema (json_schema.h); used as a token
// mask (token_mask.h). A grammar is immutable and shared; a state is a value that can be copied, so that every row of a draft has its own.

#include <array>
#include <bitset>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "core/run/grammar/number_machine.h"

namespace sluice {

using ByteSet = std::bitset<256>;

/// One node of a compiled grammar. `children` are node numbers.
struct GrammarNode {
  enum class Kind : std::uint8_t {
    Bytes,     // one byte of `bytes`
    Sequence,  // children, one after the other; none: the empty text
    Choice,    // one of children
    Repeat,    // children[0], min to max times (max -1: no bound)
    Number,    // a JSON number within numbers[index]
  };
  Kind kind = Kind::Sequence;
  bool nullable = false;  // matches the empty text; set by Grammar::finish
  ByteSet bytes;
  std::vector<std::uint32_t> children;
  int min = 0, max = 0;
  std::uint32_t index = 0;
};

class Grammar {
 public:
  using NodeId = std::uint32_t;

  NodeId bytes(const ByteSet& set);
  NodeId literal(std::string_view text);
  NodeId sequence(std::vector<NodeId> children);
  NodeId choice(std::vector<NodeId> children);
  NodeId repeat(NodeId child, int min, int max);
  NodeId number(const NumberRange& range);
  /// Code points [first, last] as UTF-8; surrogates are left out.
  NodeId codePoints(std::uint32_t first, std::uint32_t last);
  /// A node to be filled in later (a rule that is used before it is defined), and its filling.
  NodeId reserve();
  void define(NodeId node, NodeId meaning);
  /// Checks the whole and makes it usable. `names` names nodes for messages.
  /// errors  BadRequest: left recursion, a reserved node that was never defined
  Result<Done> finish(NodeId root, const std::vector<std::pair<std::string, NodeId>>& names);

  const GrammarNode& node(NodeId id) const { return nodes_[id]; }
  const NumberRange& numberRange(std::uint32_t index) const { return numbers_[index]; }
  NodeId root() const { return root_; }
  std::size_t size() const { return nodes_.size(); }

 private:
  NodeId add(GrammarNode node);
  bool recursesLeft(NodeId id, std::vector<std::uint8_t>& mark, NodeId& where) const;

  std::vector<GrammarNode> nodes_;
  std::vector<std::uint8_t> defined_;
  std::vector<NumberRange> numbers_;
  NodeId root_ = 0;
};

/// Where a text stands: every way in which the grammar can go on. Cheap to copy (stacks are shared).
class GrammarState {
 public:
  explicit GrammarState(std::shared_ptr<const Grammar> grammar);
  /// Takes one byte, or returns false and is left dead.
  bool accept(std::uint8_t byte);
  /// Takes bytes; false (and dead) at the first that does not fit.
  bool accept(std::string_view bytes);
  bool dead() const { return stacks_.empty() && !complete_; }
  /// The text so far is a whole sentence.
  bool mayEnd() const { return complete_; }
  /// ... and no byte can follow it.
  bool mustEnd() const { return complete_ && stacks_.empty(); }
  /// Bytes that may come next.
  ByteSet next() const;
  /// Equal states go on in the same ways. For caches of masks.
  std::uint64_t fingerprint() const;

  /// Ways that may be open at once; a grammar that needs more is refused at the byte (the state is dead and says so).
  static constexpr std::size_t kStacksMax = 2048;
  bool tooAmbiguous() const { return too_ambiguous_; }

 private:
  struct Frame;
  using Stack = std::shared_ptr<const Frame>;
  struct Frame {
    Grammar::NodeId node = 0;
    std::uint32_t step = 0;    // Sequence: next child; Repeat: copies made
    std::uint64_t began = 0;   // Repeat of a nullable child: bytes taken when the copy began
    NumberState number;
    Stack below;
    std::uint64_t hash = 0;
  };
  Stack push(Grammar::NodeId node, std::uint32_t step, std::uint64_t began, const NumberState& number, Stack below) const;
  void enter(Grammar::NodeId node, Stack below);
  void leave(Stack below);
  void keep(Stack stack);

  std::shared_ptr<const Grammar> grammar_;
  std::vector<Stack> stacks_;  // each waits for a byte: its top is Bytes or Number
  std::uint64_t taken_ = 0;
  bool complete_ = false;
  bool too_ambiguous_ = false;
};

}  // namespace sluice
