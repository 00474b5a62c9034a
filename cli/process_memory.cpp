#include "cli/process_memory.h"

#include <cstdlib>
#include <string_view>

#include "core/base/file.h"

namespace sluice {
namespace {

Bytes statusField(const char* name) {
  const Result<std::string> status = readWholeFile("/proc/self/status", 1_MiB);
  if (!status.ok()) return Bytes(0);
  const std::size_t at = status.value().find(name);
  if (at == std::string::npos) return Bytes(0);
  return Bytes(std::strtoull(status.value().c_str() + at + std::string_view(name).size(), nullptr, 10) << 10);
}

}  // namespace

Bytes residentNow() { return statusField("VmRSS:"); }

Bytes residentPeak() { return statusField("VmHWM:"); }

}  // namespace sluice
