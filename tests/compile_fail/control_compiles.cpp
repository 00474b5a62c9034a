// The control of the script itself: nothing is wrong here, MUST_FAIL or not, so the script must fail (its test wants it to).
// expect: anything

#include "core/base/result.h"

namespace sluice {

Result<int> count();
int number() { return count().value(); }

}  // namespace sluice
