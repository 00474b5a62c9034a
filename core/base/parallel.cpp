#include "core/base/parallel.h"

#include <atomic>
#include <cstdint>
#include <thread>
#include <vector>

#ifndef SLUICE_STD_THREADS
#include <omp.h>
#endif

#include "core/base/check.h"

namespace sluice {
namespace {

// How long a member looks before it sleeps: a few microseconds, longer than a balanced region's slack and far shorter than a time slice. libgomp's own
// waiting spins for milliseconds, which costs 100 times the work as soon as another program wants the cores.
constexpr int kLooks = 400;

inline void pauseBriefly() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#endif
}

// Returns once `value` is no longer `old`.
void waitWhile(const std::atomic<std::uint32_t>& value, std::uint32_t old) {
  for (int look = 0; look < kLooks; ++look) {
    if (value.load(std::memory_order_acquire) != old) return;
    pauseBriefly();
  }
  while (value.load(std::memory_order_acquire) == old) value.wait(old, std::memory_order_acquire);
}

}  // namespace

// Each counter on a line of its own: members look at them while others write.
struct Team::State {
  alignas(64) std::atomic<std::uint32_t> region{0};    // counts regions
  alignas(64) std::atomic<std::uint32_t> working{0};   // members other than the caller that are not through with the region
  alignas(64) std::atomic<std::uint32_t> arrived{0};   // at the barrier
  alignas(64) std::atomic<std::uint32_t> phase{0};     // counts barriers
  alignas(64) std::atomic<std::uint32_t> started{0};
  Erased call = nullptr;
  void* context = nullptr;
  bool stopping = false;
  int count = 1;
  std::vector<std::thread> threads;  // the workers, or the one host of OpenMP's

  void work(int index) {
    std::uint32_t seen = 0;
    started.fetch_add(1, std::memory_order_release);
    started.notify_one();
    for (;;) {
      waitWhile(region, seen);
      ++seen;
      if (stopping) return;
      call(context, Member(index, count, this));
      if (working.fetch_sub(1, std::memory_order_acq_rel) == 1) working.notify_one();
    }
  }
};

Team::Team(int threads) : threads_(threads), state_(std::make_unique<State>()) {
  CHECK(threads >= 1);
  State& s = *state_;
  s.count = threads;
  if (threads == 1) return;
#ifdef SLUICE_STD_THREADS
  for (int index = 1; index < threads; ++index) s.threads.emplace_back([&s, index] { s.work(index); });
#else
  // One OpenMP region that lasts as long as the team: OpenMP places the threads, the waiting between our regions is our own.
  s.threads.emplace_back([&s] {
#pragma omp parallel num_threads(s.count - 1) default(none) shared(s)
    {
      CHECK(omp_get_num_threads() == s.count - 1);
      s.work(omp_get_thread_num() + 1);
    }
  });
#endif
  for (std::uint32_t begun = 0; begun != std::uint32_t(threads - 1); begun = s.started.load(std::memory_order_acquire)) waitWhile(s.started, begun);
}

Team::~Team() {
  State& s = *state_;
  s.stopping = true;
  s.region.fetch_add(1, std::memory_order_release);
  s.region.notify_all();
  for (std::thread& thread : s.threads) thread.join();
}

void Team::runErased(Erased call, void* context) {
  State& s = *state_;
  if (threads_ > 1) {
    s.call = call;
    s.context = context;
    s.working.store(std::uint32_t(threads_ - 1), std::memory_order_relaxed);
    s.region.fetch_add(1, std::memory_order_release);
    s.region.notify_all();
  }
  call(context, Member(0, threads_, &s));
  for (std::uint32_t left = s.working.load(std::memory_order_acquire); left != 0; left = s.working.load(std::memory_order_acquire)) waitWhile(s.working, left);
}

void Member::barrier() const {
  if (count_ == 1) return;
  auto& s = *static_cast<Team::State*>(team_);
  const std::uint32_t phase = s.phase.load(std::memory_order_acquire);
  if (s.arrived.fetch_add(1, std::memory_order_acq_rel) + 1 == std::uint32_t(count_)) {
    s.arrived.store(0, std::memory_order_relaxed);
    s.phase.fetch_add(1, std::memory_order_release);
    s.phase.notify_all();
    return;
  }
  waitWhile(s.phase, phase);
}

}  // namespace sluice
