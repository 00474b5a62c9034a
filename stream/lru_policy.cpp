#include "stream/lru_policy.h"

#include "core/base/check.h"

namespace sluice {

LruPolicy::LruPolicy(int slots) : links_(std::size_t(slots) + 1), ring_(slots) { links_[std::size_t(ring_)] = {ring_, ring_}; }

void LruPolicy::append(int slot) {
  Link& ring = links_[std::size_t(ring_)];
  links_[std::size_t(slot)] = {ring.before, ring_};
  links_[std::size_t(ring.before)].after = slot;
  ring.before = slot;
}

void LruPolicy::remove(int slot) {
  Link& link = links_[std::size_t(slot)];
  CHECK(link.after >= 0);  // it is known
  links_[std::size_t(link.before)].after = link.after;
  links_[std::size_t(link.after)].before = link.before;
  link = {};
}

void LruPolicy::admit(int slot, std::uint32_t, bool) {
  CHECK(slot >= 0 && slot < ring_ && links_[std::size_t(slot)].after < 0);
  append(slot);
}

void LruPolicy::touch(int slot) {
  remove(slot);
  append(slot);
}

void LruPolicy::forget(int slot) { remove(slot); }

int LruPolicy::victim(std::span<const std::uint8_t> evictable) const {
  for (int slot = links_[std::size_t(ring_)].after; slot != ring_; slot = links_[std::size_t(slot)].after)
    if (evictable[std::size_t(slot)] != 0) return slot;
  return -1;
}

}  // namespace sluice
