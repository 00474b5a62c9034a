// A byte count does not add to a bare number.
// expect: no match for|invalid operands

#include "core/base/bytes.h"

namespace sluice {

Bytes total(Bytes a) {
#ifdef MUST_FAIL
  return a + 1;
#endif
  return a + Bytes(1);
}

}  // namespace sluice
