#include "stream/cache_policy.h"

#include "core/base/check.h"
#include "stream/lru_policy.h"

namespace sluice {

std::unique_ptr<CachePolicy> makeCachePolicy(CachePolicyKind kind, int slots) {
  switch (kind) {
    case CachePolicyKind::Lru: return std::make_unique<LruPolicy>(slots);
  }
  UNREACHABLE();
}

}  // namespace sluice
