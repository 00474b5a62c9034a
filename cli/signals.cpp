#include "cli/signals.h"

#include <csignal>
#include <unistd.h>

#include "core/base/check.h"

namespace sluice {
namespace {

// A signal handler can reach nothing but what is static.
std::atomic<bool> asked{false};
struct sigaction old_interrupt, old_terminate;
static_assert(std::atomic<bool>::is_always_lock_free, "a signal handler may touch lock-free atomics only");

void onInterrupt(int) {
  if (asked.exchange(true)) _exit(130);
}

}  // namespace

InterruptGuard::InterruptGuard() {
  asked = false;
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

void InterruptGuard::clear() { asked = false; }

}  // namespace sluice
