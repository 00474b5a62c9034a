#include "cli/options.h"

#include <array>
#include <charconv>

#include <fmt/format.h>

namespace sluice {

Result<Bytes> parseSize(const std::string& text) {
  struct Unit {
    const char* name;
    int shift;
  };
  static constexpr std::array<Unit, 6> kUnits{{{"", 0}, {"B", 0}, {"KiB", 10}, {"MiB", 20}, {"GiB", 30}, {"TiB", 40}}};
  double number = 0;
  const auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), number);
  std::string unit(end, text.data() + text.size());
  while (!unit.empty() && unit.front() == ' ') unit.erase(0, 1);
  if (fault == std::errc() && number >= 0) {
    for (const Unit& u : kUnits) {
      if (unit != u.name) continue;
      const double bytes = number * double(std::uint64_t(1) << u.shift);
      if (bytes < 9e18) return Bytes(std::uint64_t(bytes));
    }
  }
  return Error{Errc::BadRequest, fmt::format("'{}' is not a size; write bytes, or a number with KiB, MiB, GiB or TiB, like 96GiB", text)};
}

std::string sizeText(Bytes bytes) {
  const std::uint64_t n = bytes.count();
  if (n < (1u << 10)) return fmt::format("{} B", n);
  if (n < (1u << 20)) return fmt::format("{:.1f} KiB", double(n) / double(1u << 10));
  if (n < (1u << 30)) return fmt::format("{:.1f} MiB", double(n) / double(1u << 20));
  return fmt::format("{:.2f} GiB", double(n) / double(1u << 30));
}

Result<Done> checkOptions(const ModelOptions& o) {
  if (o.activations && *o.activations != 8 && *o.activations != 16)
    return Error{Errc::BadRequest, fmt::format("--activations is {}, and must be 8 or 16", *o.activations)};
  if (o.exact && o.activations)
    return Error{Errc::BadRequest, "--exact computes with f32 activations, so --activations says nothing beside it; leave one of them out"};
  if (o.exact && o.kv == RowFormat::Bf16) return Error{Errc::BadRequest, "--exact keeps f32 KV, so it contradicts --kv bf16; leave one of them out"};
  return Done{};
}

}  // namespace sluice
