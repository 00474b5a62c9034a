#pragma once
// A team of threads behind one interface: OpenMP, or std::thread where the build says so (ThreadSanitizer does not know libgomp).
// Enter one region a layer or fewer and use barriers inside it; never wait for the disk inside a region.

#include <algorithm>
#include <memory>
#include <type_traits>

namespace sluice {

/// Half-open range [begin, end) of rows.
struct Slice {
  int begin = 0, end = 0;
};

/// The part of [0, n) that member `index` of `count` works on: contiguous, cut at multiples of `grain`.
constexpr Slice sliceOf(int n, int index, int count, int grain = 1) {
  const long blocks = (long(n) + grain - 1) / grain;
  const long lo = blocks * index / count * grain, hi = blocks * (index + 1) / count * grain;
  return {int(std::min<long>(lo, n)), int(std::min<long>(hi, n))};
}

/// One thread's view of the region it runs in.
class Member {
 public:
  Member(int index, int count, void* team) : index_(index), count_(count), team_(team) {}
  int index() const { return index_; }
  int count() const { return count_; }
  Slice slice(int n, int grain = 1) const { return sliceOf(n, index_, count_, grain); }
  /// Waits until every member has come here. All members must call it equally often.
  void barrier() const;

 private:
  int index_, count_;
  void* team_;
};

/// `threads` workers, the caller among them. Not re-entrant: one region at a time, entered from one thread at a time.
/// run() allocates nothing.
class Team {
 public:
  explicit Team(int threads);
  ~Team();
  Team(const Team&) = delete;
  Team& operator=(const Team&) = delete;
  int size() const { return threads_; }

  /// Calls `body(const Member&)` once on every member and returns when all have.
  template <class Body>
  void run(Body&& body) {
    using Plain = std::remove_reference_t<Body>;
    runErased([](void* context, const Member& member) { (*static_cast<Plain*>(context))(member); },
              const_cast<void*>(static_cast<const void*>(std::addressof(body))));
  }

 private:
  using Erased = void (*)(void* context, const Member& member);
  void runErased(Erased call, void* context);
  struct State;
  friend class Member;
  int threads_;
  std::unique_ptr<State> state_;
};

}  // namespace sluice
