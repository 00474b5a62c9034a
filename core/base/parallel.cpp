#include "core/base/parallel.h"

#include <condition_variable>
#include <mutex>
#include <thread>
#include <vector>

#include "core/base/check.h"

#ifdef SLUICE_STD_THREADS

namespace sluice {

// Workers sleep between regions; `generation` counts regions, `waiting` and `phase` make the barrier.
struct Team::State {
  std::mutex mutex;
  std::condition_variable changed;
  Erased call = nullptr;
  void* context = nullptr;
  unsigned generation = 0;
  int running = 0;
  bool stopping = false;
  int waiting = 0;
  unsigned phase = 0;
  int count = 1;
  std::vector<std::thread> workers;
};

Team::Team(int threads) : threads_(threads), state_(std::make_unique<State>()) {
  CHECK(threads >= 1);
  State& s = *state_;
  s.count = threads;
  for (int index = 1; index < threads; ++index) {
    s.workers.emplace_back([&s, index] {
      unsigned seen = 0;
      for (;;) {
        std::unique_lock lock(s.mutex);
        s.changed.wait(lock, [&] { return s.stopping || s.generation != seen; });
        if (s.stopping) return;
        seen = s.generation;
        const Erased call = s.call;
        void* const context = s.context;
        lock.unlock();
        call(context, Member(index, s.count, &s));
        lock.lock();
        if (--s.running == 0) s.changed.notify_all();
      }
    });
  }
}

Team::~Team() {
  {
    const std::lock_guard lock(state_->mutex);
    state_->stopping = true;
  }
  state_->changed.notify_all();
  for (std::thread& worker : state_->workers) worker.join();
}

void Team::runErased(Erased call, void* context) {
  State& s = *state_;
  {
    const std::lock_guard lock(s.mutex);
    s.call = call;
    s.context = context;
    s.running = threads_ - 1;
    ++s.generation;
  }
  s.changed.notify_all();
  call(context, Member(0, threads_, &s));
  std::unique_lock lock(s.mutex);
  s.changed.wait(lock, [&] { return s.running == 0; });
}

void Member::barrier() const {
  auto& s = *static_cast<Team::State*>(team_);
  std::unique_lock lock(s.mutex);
  const unsigned phase = s.phase;
  if (++s.waiting == s.count) {
    s.waiting = 0;
    ++s.phase;
    s.changed.notify_all();
    return;
  }
  s.changed.wait(lock, [&] { return s.phase != phase; });
}

}  // namespace sluice

#else

#include <omp.h>

namespace sluice {

struct Team::State {};

Team::Team(int threads) : threads_(threads), state_(std::make_unique<State>()) { CHECK(threads >= 1); }
Team::~Team() = default;

void Team::runErased(Erased call, void* context) {
  const int threads = threads_;
  if (threads == 1) {
    call(context, Member(0, 1, nullptr));
    return;
  }
#pragma omp parallel num_threads(threads) default(none) shared(call, context, threads)
  {
    CHECK(omp_get_num_threads() == threads);
    call(context, Member(omp_get_thread_num(), threads, nullptr));
  }
}

void Member::barrier() const {
  if (count_ == 1) return;
#pragma omp barrier
}

}  // namespace sluice

#endif
