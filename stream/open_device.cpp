#include "stream/open_device.h"

#include <fmt/format.h>

#include "stream/file_set.h"
#include "stream/pread_device.h"
#include "stream/uring_device.h"

namespace sluice {

Result<std::unique_ptr<BlockDevice>> openDevice(std::span<const ModelFile> files, const DeviceOptions& options) {
  if (options.read_depth < 1 || options.read_depth > kReadDepthMax)
    return Error{Errc::BadRequest, fmt::format("--read-depth {} is not in 1 to {}", options.read_depth, kReadDepthMax)};
  FileSet set = TRY(FileSet::open(files, options.caching));
  if (options.io == IoKind::Pread) return std::unique_ptr<BlockDevice>(std::make_unique<PreadDevice>(std::move(set), options.read_depth));
  Result<LiveRing> ring = createRing(options.read_depth);
  if (ring.ok())
    return std::unique_ptr<BlockDevice>(std::make_unique<UringDevice>(std::move(ring).value(), std::move(set), options.read_depth));
  if (options.io == IoKind::Uring) return std::move(ring).error();
  set.warn("uring_refused", fmt::format("{}; reading by pread threads instead", ring.error().what));
  return std::unique_ptr<BlockDevice>(std::make_unique<PreadDevice>(std::move(set), options.read_depth));
}

}  // namespace sluice
