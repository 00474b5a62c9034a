// Any bytes as a safetensors file: whatever is accepted must lie inside the file, sorted and without overlap.

#include <cstring>
#include <string>

#include "core/base/check.h"
#include "core/format/safetensors.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace sluice;
  // The length field as readSafetensorsFile reads it; bytes alone, no file.
  std::uint64_t length = 0;
  if (size < sizeof length) return 0;
  std::memcpy(&length, data, sizeof length);
  if (length > size - sizeof length) return 0;
  const auto header = parseSafetensorsHeader(std::string(reinterpret_cast<const char*>(data) + sizeof length, length), sizeof length + length, size, "fuzz");
  if (!header.ok()) {
    CHECK(header.error().code == Errc::Corrupt && !header.error().what.empty());
    return 0;
  }
  std::uint64_t end = sizeof length + length;
  for (const TensorEntry& entry : header.value().tensors) {
    CHECK(entry.data.offset == end);
    end += entry.data.bytes;
    CHECK(entry.rank >= 0 && entry.rank <= kTensorRankMax);
  }
  CHECK(end == size);
  return 0;
}
