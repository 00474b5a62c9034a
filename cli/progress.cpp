#include "cli/progress.h"

#include <cstdio>

#include <fmt/format.h>

#include "cli/options.h"

namespace sluice {

using namespace std::chrono_literals;

Progress::Progress(const Clock& clock, bool terminal, std::chrono::nanoseconds patience) : clock_(clock), terminal_(terminal), patience_(patience) {}

Progress::~Progress() { clear(); }

std::string Progress::line(std::string_view what, double done, double total, std::string_view unit, std::chrono::nanoseconds elapsed) {
  const double seconds = std::chrono::duration<double>(elapsed).count();
  const double share = total > 0 ? done / total : 1;
  const double rate = seconds > 0 ? done / seconds : 0;
  const bool bytes = unit == "bytes";
  const std::string speed = bytes ? sizeText(Bytes(std::uint64_t(rate))) + "/s" : fmt::format("{:.1f} {}/s", rate, unit);
  const std::string amount = bytes ? fmt::format("{} of {}", sizeText(Bytes(std::uint64_t(done))), sizeText(Bytes(std::uint64_t(total))))
                                   : fmt::format("{:.0f} of {:.0f} {}", done, total, unit);
  std::string left;
  if (rate > 0 && done < total) left = fmt::format(", {:.0f} s left", (total - done) / rate);
  return fmt::format("{}: {} ({:.0f} %), {}{}", what, amount, share * 100, speed, left);
}

void Progress::show(std::string_view what, double done, double total, std::string_view unit) {
  const std::chrono::nanoseconds now = clock_.now();
  if (what != what_) {
    clear();
    what_ = what;
    began_ = now;
    shown_ = now;
  }
  const std::chrono::nanoseconds period = terminal_ ? std::chrono::nanoseconds(200ms) : std::chrono::nanoseconds(10s);
  if (now - began_ < patience_ || (on_screen_ && now - shown_ < period)) return;
  shown_ = now;
  on_screen_ = true;
  const std::string text = line(what, done, total, unit, now - began_);
  std::fprintf(stderr, terminal_ ? "\r\033[K%s" : "%s\n", text.c_str());
  std::fflush(stderr);
}

void Progress::clear() {
  if (on_screen_ && terminal_) {
    std::fputs("\r\033[K", stderr);
    std::fflush(stderr);
  }
  on_screen_ = false;
  what_.clear();
}

}  // namespace sluice
