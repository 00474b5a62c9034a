#include "cli/signals.h"

#include <unistd.h>

#include <csignal>
#include <cstdint>
#include <ctime>

#include "core/base/check.h"

namespace sluice {
namespace {

// A signal handler can reach nothing but what is static.
std::atomic<bool> asked{false};
std::atomic<std::int64_t> asked_at_ms{0};  // 0: nobody asked
struct sigaction old_interrupt, old_terminate;
static_assert(std::atomic<bool>::is_always_lock_free && std::atomic<std::int64_t>::is_always_lock_free, "a signal handler may touch lock-free atomics only");

// One press may come as two signals: supervisors (coreutils' timeout) signal the process and then its whole group. Nobody presses twice that fast.
constexpr std::int64_t kOnePressMs = 300;

void onInterrupt(int) {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);  // async-signal-safe
  const std::int64_t ms = std::int64_t(now.tv_sec) * 1000 + now.tv_nsec / 1000000;
  // The time goes first: two threads may each be handed a signal of one press.
  std::int64_t first = 0;
  if (asked_at_ms.compare_exchange_strong(first, ms) || ms - first <= kOnePressMs) {
    asked = true;
  } else {
    _exit(130);
  }
}

}  // namespace

InterruptGuard::InterruptGuard() {
  clear();
  struct sigaction action {};
  action.sa_handler = onInterrupt;
  sigemptyset(&action.sa_mask);
  // No SA_RESTART: a person who waits at a prompt gets it back.
  CHECK(sigaction(SIGINT, &action, &old_interrupt) == 0 && sigaction(SIGTERM, &action, &old_terminate) == 0);
}

InterruptGuard::~InterruptGuard() {
  sigaction(SIGINT, &old_interrupt, nullptr);
  sigaction(SIGTERM, &old_terminate, nullptr);
}

const std::atomic<bool>& InterruptGuard::flag() const { return asked; }

void InterruptGuard::clear() {
  asked = false;
  asked_at_ms = 0;
}

}  // namespace sluice
