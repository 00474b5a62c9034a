// A token does not compare with an expert.
// expect: no match for|invalid operands

#include "core/base/ids.h"

namespace sluice {

bool same(TokenId t, ExpertId e) {
#ifdef MUST_FAIL
  return t == e;
#endif
  return t.value() == e.value();
}

}  // namespace sluice
