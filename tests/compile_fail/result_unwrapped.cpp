// A Result is not its value.
// expect: cannot convert|no viable conversion

#include "core/base/result.h"

namespace sluice {

Result<int> count();
int twice() {
#ifdef MUST_FAIL
  const int n = count();
  return n;
#endif
  return count().value() * 2;
}

}  // namespace sluice
