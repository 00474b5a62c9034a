// A pin has one holder.
// expect: deleted

#include "core/ports/expert_source.h"

namespace sluice {

void hold(ExpertPin&& pin) {
#ifdef MUST_FAIL
  const ExpertPin copied = pin;
#endif
  const ExpertPin moved = static_cast<ExpertPin&&>(pin);
}

}  // namespace sluice
