#pragma once
// What every device needs and a test can check without a disk: the order of waiting reads, and how one read goes on after each answer
// of the kernel.

#include <algorithm>
#include <cstdint>

#include "core/base/check.h"
#include "core/base/file.h"
#include "stream/block_device.h"

namespace sluice {

/// Waiting reads: demanded ones first, each kind in order of arrival. The caller locks.
class ReadQueue {
 public:
  void push(ReadOp& op) { list(op.urgency).push(op); }

  ReadOp* pop() {
    if (ReadOp* const op = demanded_.pop(); op != nullptr) return op;
    return guessed_.pop();
  }

  bool empty() const { return demanded_.first == nullptr && guessed_.first == nullptr; }

  /// Moves a waiting speculative read behind the demanded ones; one that is not waiting stays as it is.
  void promote(ReadOp& op) {
    if (!guessed_.remove(op)) return;
    op.urgency = Urgency::Demand;
    demanded_.push(op);
  }

 private:
  struct List {
    ReadOp* first = nullptr;
    ReadOp* last = nullptr;
    void push(ReadOp& op) {
      op.next = nullptr;
      if (last == nullptr) {
        first = &op;
      } else {
        last->next = &op;
      }
      last = &op;
    }
    ReadOp* pop() {
      ReadOp* const op = first;
      if (op == nullptr) return nullptr;
      first = op->next;
      if (first == nullptr) last = nullptr;
      op->next = nullptr;
      return op;
    }
    bool remove(ReadOp& op) {
      ReadOp* before = nullptr;
      for (ReadOp* at = first; at != nullptr; before = at, at = at->next) {
        if (at != &op) continue;
        (before == nullptr ? first : before->next) = op.next;
        if (last == &op) last = before;
        op.next = nullptr;
        return true;
      }
      return false;
    }
  };
  List& list(Urgency urgency) { return urgency == Urgency::Demand ? demanded_ : guessed_; }
  List demanded_, guessed_;
};

/// How far one read has come. The kernel may answer with less than was asked: the read goes on where it stopped, for O_DIRECT at the
/// last whole block before.
class ReadCursor {
 public:
  ReadCursor() = default;
  ReadCursor(ReadOp& op, bool direct) : op_(&op), direct_(direct) {
    DCHECK(op.offset % kDirectAlign.count() == 0);
    DCHECK(reinterpret_cast<std::uintptr_t>(op.destination) % kDirectAlign.count() == 0);
  }

  ReadOp& op() const { return *op_; }
  bool direct() const { return direct_; }
  void fallBackToBuffered() { direct_ = false; }

  // Linux moves at most 2 GiB less a page at once; one GiB keeps the length aligned.
  static constexpr std::uint64_t kPieceMax = std::uint64_t(1) << 30;

  std::uint64_t offset() const { return op_->offset + at_; }
  std::byte* destination() const { return op_->destination + at_; }
  std::uint64_t bytes() const {
    const std::uint64_t left = op_->bytes - at_;
    return std::uint64_t(std::min(direct_ ? roundUp(left, kDirectAlign.count()) : left, kPieceMax));
  }

  /// Takes the kernel's count of bytes; true when the read is over, done() says with how many.
  bool advance(std::uint64_t got) {
    have_ = std::min(at_ + got, op_->bytes);
    if (got == 0 || have_ == op_->bytes) return true;
    const std::uint64_t resume = direct_ ? roundDown(at_ + got, kDirectAlign.count()) : at_ + got;
    if (resume == at_) return true;  // less than a block came of a whole one asked for: the file ends here
    at_ = resume;
    return false;
  }
  std::uint64_t have() const { return have_; }

 private:
  ReadOp* op_ = nullptr;
  bool direct_ = false;
  std::uint64_t at_ = 0, have_ = 0;
};

}  // namespace sluice
