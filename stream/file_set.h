#pragma once
// The model's files, open: past the page cache where the file system lets us, and known to be those whose headers were read.

#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/file.h"
#include "core/base/report.h"
#include "core/base/result.h"
#include "core/format/matrix_layout.h"

namespace sluice {

/// Done while the file at `file.path` is the one whose header was read; allocates nothing then.
/// errors  Corrupt: "model file X was replaced while running ..."
Result<Done> checkUnchanged(const ModelFile& file);

/// Movable before its use, shared by a device's threads after.
class FileSet {
 public:
  /// Opens every file and compares what it is now with what it was when its header was read.
  /// errors  NotFound, Io, Corrupt (replaced)
  static Result<FileSet> open(std::span<const ModelFile> files, Caching caching);

  int count() const { return int(entries_.size()); }
  struct Handle {
    int fd;
    bool direct;
  };
  Handle handle(std::uint32_t file) const;
  /// The file system refuses a direct read of an open file: from now on the file is read through the page cache.
  /// errors  NotFound, Io, Corrupt (replaced)
  Result<Done> fallBack(std::uint32_t file);
  /// The descriptor that the file was opened with, whatever handle() says now.
  int firstDescriptor(std::uint32_t file) const;
  int bufferedCount() const;
  void warn(std::string_view code, std::string text);
  Report report() const;

 private:
  struct Entry {
    ModelFile file;
    OwnedFd direct, buffered;  // `buffered` once direct reads are refused; the direct one stays open for reads under way
  };
  struct Guard {
    std::mutex mutex;
    Report report;
  };
  std::vector<Entry> entries_;
  std::unique_ptr<Guard> guard_ = std::make_unique<Guard>();
};

}  // namespace sluice
