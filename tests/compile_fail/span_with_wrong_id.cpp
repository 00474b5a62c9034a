// A span over experts is not indexed by a token.
// expect: no match for|no viable overloaded

#include "core/base/ids.h"
#include "core/base/views.h"

namespace sluice {

float score(IdSpan<ExpertId, const float> scores, ExpertId e, TokenId t) {
#ifdef MUST_FAIL
  return scores[t];
#endif
  return t.value() == 0 ? 0.0F : scores[e];
}

}  // namespace sluice
