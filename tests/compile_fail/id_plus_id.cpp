// Ids are names: they do not add.
// expect: no match for|invalid operands

#include "core/base/ids.h"

namespace sluice {

bool later(LayerId a, LayerId b) {
#ifdef MUST_FAIL
  return (a + b).value() > 0;
#endif
  return a < b;
}

}  // namespace sluice
