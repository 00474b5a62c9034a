#pragma once
// Chooses how the model's files are read.

#include <memory>
#include <optional>
#include <span>

#include "core/base/file.h"
#include "core/base/result.h"
#include "core/format/matrix_layout.h"
#include "stream/block_device.h"

namespace sluice {

enum class IoKind { Uring, Pread };

struct DeviceOptions {
  std::optional<IoKind> io;  // --io; absent: io_uring, and pread where that is refused, with a warning that says why
  int read_depth = 16;       // --read-depth: reads in flight, 1 to 128
  Caching caching = Caching::Direct;
};

/// errors  BadRequest (depth out of range); Io (io_uring was asked for and is refused: names the reason and the cure); NotFound, Io,
///         Corrupt (a file is gone, unreadable, or not the one whose header was read)
Result<std::unique_ptr<BlockDevice>> openDevice(std::span<const ModelFile> files, const DeviceOptions& options);

}  // namespace sluice
