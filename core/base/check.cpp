#include "core/base/check.h"

#include <cstdio>
#include <cstdlib>

namespace sluice {

void checkFailed(const char* expression, const char* file, int line) noexcept {
  std::fprintf(stderr, "%s:%d: CHECK failed: %s\n", file, line, expression);
  std::abort();
}

}  // namespace sluice
