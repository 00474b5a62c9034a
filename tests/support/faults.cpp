#include "tests/support/faults.h"

#include <charconv>
#include <string>

namespace sluice {
namespace {

Error bad(std::string_view part, const char* expected) {
  return Error{Errc::BadRequest, "--faults: '" + std::string(part) + "' is not understood: expected " + expected};
}

template <class Number>
bool parseNumber(std::string_view text, Number& out) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
  return error == std::errc() && end == text.data() + text.size() && !text.empty();
}

bool parseChance(std::string_view text, double& out) { return parseNumber(text, out) && out >= 0 && out <= 1; }

bool parseTime(std::string_view text, std::chrono::nanoseconds& out) {
  const std::size_t unit_at = text.find_first_not_of("0123456789");
  std::uint32_t count = 0;
  if (unit_at == std::string_view::npos || !parseNumber(text.substr(0, unit_at), count)) return false;
  const std::string_view unit = text.substr(unit_at);
  if (unit == "us") {
    out = std::chrono::microseconds(count);
  } else if (unit == "ms") {
    out = std::chrono::milliseconds(count);
  } else if (unit == "s") {
    out = std::chrono::seconds(count);
  } else {
    return false;
  }
  return true;
}

bool parseTimedChance(std::string_view text, double& chance, std::chrono::nanoseconds& time) {
  const std::size_t colon = text.find(':');
  return colon != std::string_view::npos && parseChance(text.substr(0, colon), chance) && parseTime(text.substr(colon + 1), time);
}

}  // namespace

Result<Faults> parseFaults(std::string_view text) {
  Faults faults;
  while (!text.empty()) {
    const std::size_t comma = text.find(',');
    const std::string_view part = text.substr(0, comma);
    text = comma == std::string_view::npos ? std::string_view() : text.substr(comma + 1);
    const std::size_t equals = part.find('=');
    if (equals == std::string_view::npos) return bad(part, "name=value");
    const std::string_view name = part.substr(0, equals), value = part.substr(equals + 1);
    std::uint64_t count = 0;
    if (name == "seed") {
      if (!parseNumber(value, faults.seed)) return bad(part, "a whole number");
    } else if (name == "eio" || name == "short" || name == "flip") {
      double& chance = name == "eio" ? faults.eio : name == "short" ? faults.short_read : faults.flip;
      if (!parseChance(value, chance)) return bad(part, "a chance from 0 to 1");
    } else if (name == "delay") {
      if (!parseTimedChance(value, faults.delay, faults.delay_time)) return bad(part, "a chance and a time, as .1:20ms");
    } else if (name == "stall") {
      if (!parseTimedChance(value, faults.stall, faults.stall_time)) return bad(part, "a chance and a time, as .001:5s");
    } else if (name == "enospc_after" || name == "crash_at") {
      if (!parseNumber(value, count)) return bad(part, "a whole number");
      (name == "crash_at" ? faults.crash_at : faults.enospc_after) = count;
    } else {
      return bad(part, "seed, eio, short, flip, delay, stall, enospc_after or crash_at");
    }
  }
  return faults;
}

}  // namespace sluice
