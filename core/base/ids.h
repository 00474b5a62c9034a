#pragma once
// Ids are names, not numbers: they never mix, add or convert by themselves.

#include <compare>
#include <cstdint>

namespace sluice {

template <class Tag>
class Id {
 public:
  constexpr Id() = default;
  constexpr explicit Id(std::uint32_t v) : value_(v) {}
  constexpr std::uint32_t value() const { return value_; }
  constexpr auto operator<=>(const Id&) const = default;

 private:
  std::uint32_t value_ = 0;
};

using TokenId = Id<struct TokenTag>;
using LayerId = Id<struct LayerTag>;
using ExpertId = Id<struct ExpertTag>;
using SequenceId = Id<struct SequenceTag>;

}  // namespace sluice
