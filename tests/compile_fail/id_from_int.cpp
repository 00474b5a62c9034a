// A bare number does not become an id by itself.
// expect: could not convert|no viable conversion

#include "core/base/ids.h"

namespace sluice {

TokenId next() {
#ifdef MUST_FAIL
  return 5;
#endif
  return TokenId(5);
}

}  // namespace sluice
