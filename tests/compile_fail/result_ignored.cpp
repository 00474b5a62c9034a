// No call that can fail is ignored by accident.
// expect: nodiscard

#include "core/base/result.h"

namespace sluice {

Result<Done> write();
bool both() {
#ifdef MUST_FAIL
  write();
#endif
  return write().ok();
}

}  // namespace sluice
