#include "core/run/grammar/grammar.h"

#include <algorithm>

#include "core/base/rng.h"

namespace sluice {
namespace {

std::string utf8(std::uint32_t c) {
  std::string s;
  if (c < 0x80) {
    s += char(c);
  } else if (c < 0x800) {
    s += char(0xc0 | (c >> 6));
    s += char(0x80 | (c & 63));
  } else if (c < 0x10000) {
    s += char(0xe0 | (c >> 12));
    s += char(0x80 | ((c >> 6) & 63));
    s += char(0x80 | (c & 63));
  } else {
    s += char(0xf0 | (c >> 18));
    s += char(0x80 | ((c >> 12) & 63));
    s += char(0x80 | ((c >> 6) & 63));
    s += char(0x80 | (c & 63));
  }
  return s;
}

ByteSet range(std::uint8_t first, std::uint8_t last) {
  ByteSet set;
  for (int b = first; b <= last; ++b) set.set(std::size_t(b));
  return set;
}

}  // namespace

Grammar::NodeId Grammar::add(GrammarNode node) {
  nodes_.push_back(std::move(node));
  defined_.push_back(1);
  return NodeId(nodes_.size() - 1);
}

Grammar::NodeId Grammar::bytes(const ByteSet& set) {
  GrammarNode n;
  n.kind = GrammarNode::Kind::Bytes;
  n.bytes = set;
  return add(std::move(n));
}

Grammar::NodeId Grammar::literal(std::string_view text) {
  std::vector<NodeId> parts;
  for (const char c : text) {
    ByteSet one;
    one.set(std::uint8_t(c));
    parts.push_back(bytes(one));
  }
  return parts.size() == 1 ? parts[0] : sequence(std::move(parts));
}

Grammar::NodeId Grammar::sequence(std::vector<NodeId> children) {
  GrammarNode n;
  n.kind = GrammarNode::Kind::Sequence;
  n.children = std::move(children);
  return add(std::move(n));
}

Grammar::NodeId Grammar::choice(std::vector<NodeId> children) {
  if (children.size() == 1) return children[0];
  GrammarNode n;
  n.kind = GrammarNode::Kind::Choice;
  n.children = std::move(children);
  return add(std::move(n));
}

Grammar::NodeId Grammar::repeat(NodeId child, int min, int max) {
  GrammarNode n;
  n.kind = GrammarNode::Kind::Repeat;
  n.children = {child};
  n.min = min;
  n.max = max;
  return add(std::move(n));
}

Grammar::NodeId Grammar::number(const NumberRange& wanted) {
  numbers_.push_back(wanted);
  GrammarNode n;
  n.kind = GrammarNode::Kind::Number;
  n.index = std::uint32_t(numbers_.size() - 1);
  return add(std::move(n));
}

// Splits [first, last] into runs whose encodings differ in trailing bytes that cover their whole range, the usual way to spell a range of
// code points as a handful of byte ranges.
Grammar::NodeId Grammar::codePoints(std::uint32_t first, std::uint32_t last) {
  std::vector<NodeId> ways;
  const auto spell = [&](std::uint32_t lo, std::uint32_t hi) {
    const std::string a = utf8(lo), b = utf8(hi);
    std::vector<NodeId> parts;
    for (std::size_t i = 0; i < a.size(); ++i) parts.push_back(bytes(range(std::uint8_t(a[i]), std::uint8_t(b[i]))));
    ways.push_back(sequence(std::move(parts)));
  };
  const auto split = [&](auto&& self, std::uint32_t lo, std::uint32_t hi) -> void {
    if (lo > hi) return;
    static constexpr std::uint32_t kEdges[] = {0x80, 0x800, 0xd800, 0xe000, 0x10000};
    for (const std::uint32_t edge : kEdges) {
      if (lo < edge && hi >= edge) {
        self(self, lo, edge - 1);
        self(self, edge, hi);
        return;
      }
    }
    if (lo >= 0xd800 && hi <= 0xdfff) return;
    const int tail = int(utf8(lo).size()) - 1;
    for (int i = 1; i <= tail; ++i) {
      const std::uint32_t mask = (1u << (6 * i)) - 1;
      if ((lo & ~mask) == (hi & ~mask)) continue;
      if ((lo & mask) != 0) {
        self(self, lo, lo | mask);
        self(self, (lo | mask) + 1, hi);
        return;
      }
      if ((hi & mask) != mask) {
        self(self, lo, (hi & ~mask) - 1);
        self(self, hi & ~mask, hi);
        return;
      }
    }
    spell(lo, hi);
  };
  split(split, first, std::min<std::uint32_t>(last, 0x10ffff));
  return ways.empty() ? bytes(ByteSet{}) : choice(std::move(ways));
}

Grammar::NodeId Grammar::reserve() {
  const NodeId id = sequence({});
  defined_[id] = 0;
  return id;
}

void Grammar::define(NodeId node, NodeId meaning) {
  nodes_[node].children = {meaning};
  defined_[node] = 1;
}

// Depth first along what may come first; a node met again on the way recurses without taking a byte.
bool Grammar::recursesLeft(NodeId id, std::vector<std::uint8_t>& mark, NodeId& where) const {
  if (mark[id] == 2) return false;
  if (mark[id] == 1) {
    where = id;
    return true;
  }
  mark[id] = 1;
  const GrammarNode& n = nodes_[id];
  for (const NodeId child : n.children) {
    if (recursesLeft(child, mark, where)) return true;
    if (n.kind == GrammarNode::Kind::Sequence && !nodes_[child].nullable) break;
  }
  mark[id] = 2;
  return false;
}

Result<Done> Grammar::finish(NodeId root, const std::vector<std::pair<std::string, NodeId>>& names) {
  const auto nameOf = [&](NodeId id) {
    for (const auto& [name, node] : names)
      if (node == id) return "'" + name + "'";
    return std::string("(unnamed)");
  };
  for (NodeId id = 0; id < nodes_.size(); ++id)
    if (defined_[id] == 0) return Error{Errc::BadRequest, "grammar: rule " + nameOf(id) + " is used and never defined"};
  // Nullable by fixpoint: each pass can only add.
  for (bool changed = true; changed;) {
    changed = false;
    for (GrammarNode& n : nodes_) {
      bool nullable = false;
      switch (n.kind) {
        case GrammarNode::Kind::Bytes:
        case GrammarNode::Kind::Number: break;
        case GrammarNode::Kind::Sequence:
          nullable = std::all_of(n.children.begin(), n.children.end(), [&](NodeId c) { return nodes_[c].nullable; });
          break;
        case GrammarNode::Kind::Choice:
          nullable = std::any_of(n.children.begin(), n.children.end(), [&](NodeId c) { return nodes_[c].nullable; });
          break;
        case GrammarNode::Kind::Repeat: nullable = n.min == 0 || nodes_[n.children[0]].nullable; break;
      }
      if (nullable && !n.nullable) n.nullable = changed = true;
    }
  }
  std::vector<std::uint8_t> mark(nodes_.size(), 0);
  for (NodeId id = 0; id < nodes_.size(); ++id) {
    NodeId where = 0;
    if (recursesLeft(id, mark, where)) {
      NodeId named = where;
      for (const auto& [name, node] : names)
        if (mark[node] == 1) named = node;
      return Error{Errc::BadRequest, "grammar: rule " + nameOf(named) + " begins with itself (left recursion); write it as a repetition, e.g. x ::= y (op y)*"};
    }
  }
  root_ = root;
  return Done{};
}

GrammarState::GrammarState(std::shared_ptr<const Grammar> grammar) : grammar_(std::move(grammar)) { enter(grammar_->root(), nullptr); }

GrammarState::Stack GrammarState::push(Grammar::NodeId node, std::uint32_t step, std::uint64_t began, const NumberState& number, Stack below) const {
  auto frame = std::make_shared<Frame>();
  std::uint64_t hash = mix64(below ? below->hash : 0);
  hash = mix64(hash ^ node);
  hash = mix64(hash ^ step);
  hash = mix64(hash ^ (std::uint64_t(number.phase) | std::uint64_t(number.negative) << 8 | std::uint64_t(number.digits) << 16));
  frame->hash = mix64(hash ^ std::uint64_t(number.value));
  frame->node = node;
  frame->step = step;
  frame->began = began;
  frame->number = number;
  frame->below = std::move(below);
  return frame;
}

void GrammarState::keep(Stack stack) {
  for (const Stack& other : stacks_)
    if (other->hash == stack->hash) return;
  if (stacks_.size() >= kStacksMax) {
    too_ambiguous_ = true;
    return;
  }
  stacks_.push_back(std::move(stack));
}

// Opens `node` above `below` and follows every way until each waits for a byte. Ends because no rule recurses left and a repetition whose copy
// took no byte is not repeated.
void GrammarState::enter(Grammar::NodeId node, Stack below) {
  const GrammarNode& n = grammar_->node(node);
  switch (n.kind) {
    case GrammarNode::Kind::Bytes:
    case GrammarNode::Kind::Number: keep(push(node, 0, 0, {}, std::move(below))); return;
    case GrammarNode::Kind::Choice:
      for (const Grammar::NodeId child : n.children) enter(child, below);
      return;
    case GrammarNode::Kind::Sequence:
      if (n.children.empty()) {
        leave(std::move(below));
      } else if (n.children.size() == 1) {
        enter(n.children[0], std::move(below));  // the last child needs no frame: deep right recursion stays flat
      } else {
        enter(n.children[0], push(node, 1, 0, {}, std::move(below)));
      }
      return;
    case GrammarNode::Kind::Repeat: {
      if (n.min == 0) leave(below);
      if (n.max == 0) return;
      enter(n.children[0], push(node, 1, taken_, {}, std::move(below)));
      return;
    }
  }
}

// What stood above `top` is done: goes on with the frame below it.
void GrammarState::leave(Stack top) {
  if (!top) {
    complete_ = true;
    return;
  }
  const GrammarNode& n = grammar_->node(top->node);
  if (n.kind == GrammarNode::Kind::Sequence) {
    const std::uint32_t step = top->step;
    if (step + 1 == n.children.size()) {
      enter(n.children[step], top->below);
    } else {
      enter(n.children[step], push(top->node, step + 1, 0, {}, top->below));
    }
    return;
  }
  CHECK(n.kind == GrammarNode::Kind::Repeat);
  const bool child_nullable = grammar_->node(n.children[0]).nullable;
  const int copies = int(top->step);
  const bool empty_copy = child_nullable && top->began == taken_;
  if (copies >= n.min || child_nullable) leave(top->below);
  if (empty_copy || (n.max >= 0 && copies >= n.max)) return;
  // Without bounds left to count, the count stands still, so that equal futures are equal states.
  const std::uint32_t next = (n.max < 0 && copies >= n.min) ? top->step : top->step + 1;
  enter(n.children[0], push(top->node, next, taken_, {}, top->below));
}

bool GrammarState::accept(std::uint8_t byte) {
  std::vector<Stack> before;
  before.swap(stacks_);
  complete_ = false;
  ++taken_;
  for (const Stack& top : before) {
    const GrammarNode& n = grammar_->node(top->node);
    if (n.kind == GrammarNode::Kind::Bytes) {
      if (n.bytes.test(byte)) leave(top->below);
      continue;
    }
    const NumberRange& wanted = grammar_->numberRange(n.index);
    NumberState number = top->number;
    if (!numberAccepts(wanted, number, byte)) continue;
    keep(push(top->node, 0, 0, number, top->below));
    if (numberMayEnd(wanted, number)) leave(top->below);
  }
  if (too_ambiguous_) {
    stacks_.clear();
    complete_ = false;
  }
  return !dead();
}

bool GrammarState::accept(std::string_view bytes) {
  for (const char c : bytes)
    if (!accept(std::uint8_t(c))) return false;
  return true;
}

ByteSet GrammarState::next() const {
  ByteSet set;
  for (const Stack& top : stacks_) {
    const GrammarNode& n = grammar_->node(top->node);
    if (n.kind == GrammarNode::Kind::Bytes) {
      set |= n.bytes;
      continue;
    }
    for (const char c : std::string_view("-+.eE0123456789")) {
      NumberState number = top->number;
      if (numberAccepts(grammar_->numberRange(n.index), number, std::uint8_t(c))) set.set(std::uint8_t(c));
    }
  }
  return set;
}

std::uint64_t GrammarState::fingerprint() const {
  std::uint64_t sum = complete_ ? 1 : 0;  // a sum: the order of ways does not matter
  for (const Stack& top : stacks_) sum += mix64(top->hash);
  return sum;
}

}  // namespace sluice
