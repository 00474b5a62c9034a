// An id does not become a number by itself.
// expect: cannot convert|no viable conversion

#include "core/base/ids.h"

namespace sluice {

unsigned number(ExpertId e) {
#ifdef MUST_FAIL
  return e;
#endif
  return e.value();
}

}  // namespace sluice
