#pragma once
// Files as values: who owns a descriptor, reads that finish or say why, and the one door through which files are written
// (beside, synced, renamed, directory synced). Errors name the file, the numbers and the system's reason.

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <utility>

#include "core/base/bytes.h"
#include "core/base/result.h"

namespace sluice {

/// One open descriptor, closed by its owner. Move-only.
class OwnedFd {
 public:
  OwnedFd() = default;
  explicit OwnedFd(int fd) : fd_(fd) {}
  OwnedFd(OwnedFd&& o) noexcept : fd_(std::exchange(o.fd_, -1)) {}
  OwnedFd& operator=(OwnedFd&& o) noexcept;
  ~OwnedFd();
  int get() const { return fd_; }
  bool valid() const { return fd_ >= 0; }

 private:
  int fd_ = -1;
};

/// The system's words for an errno value; safe from any thread.
std::string errnoText(int error);

// O_DIRECT: offset, length and address must be multiples of the logical block, 4096 at most on NVMe.
constexpr Bytes kDirectAlign{4096};

enum class Caching {
  Buffered,
  Direct,  // O_DIRECT: past the page cache
};

/// Opens a regular file for reading.
/// errors  NotFound (no such file), Unsupported (Direct refused by the file system: open it Buffered), Io (not a regular file, or the system's reason)
Result<OwnedFd> openRead(const std::filesystem::path& path, Caching caching = Caching::Buffered);

/// What a file was at one moment; equal identities mean that nobody replaced or rewrote it in between.
struct FileIdentity {
  std::uint64_t size = 0;
  std::uint64_t device = 0, inode = 0;
  std::int64_t modified_ns = 0;
  bool operator==(const FileIdentity&) const = default;
};

/// Of the open file. `path` is for the error's text.
Result<FileIdentity> identityOf(const OwnedFd& fd, const std::filesystem::path& path);
/// Of whatever lies at `path` now. Allocates nothing when it succeeds.
Result<FileIdentity> identityAt(const std::filesystem::path& path);

/// Fills `out` from `offset`, however many reads that takes.
/// errors  Corrupt (the file ends before), Io
Result<Done> readExactly(const OwnedFd& fd, const std::filesystem::path& path, std::uint64_t offset, std::span<std::byte> out);

/// Everything that `path` holds; pipes and devices too, up to `bytes_max`.
/// errors  NotFound, BadRequest (longer than bytes_max), Io
Result<std::string> readWholeFile(const std::filesystem::path& path, Bytes bytes_max);

/// The steps by which files are written, so that a test can fail or stop at any of them. Production has RealFileSteps alone.
class FileSteps {
 public:
  virtual ~FileSteps() = default;
  /// Creates `path` or empties it, for writing; mode 0600.
  virtual Result<OwnedFd> create(const std::filesystem::path& path) = 0;
  /// Appends all of `bytes`.
  virtual Result<Done> write(const OwnedFd& fd, const std::filesystem::path& path, std::span<const std::byte> bytes) = 0;
  virtual Result<Done> sync(const OwnedFd& fd, const std::filesystem::path& path) = 0;
  virtual Result<Done> rename(const std::filesystem::path& from, const std::filesystem::path& to) = 0;
  virtual Result<Done> syncDirectory(const std::filesystem::path& directory) = 0;
  virtual Result<Done> remove(const std::filesystem::path& path) = 0;
};

class RealFileSteps final : public FileSteps {
 public:
  Result<OwnedFd> create(const std::filesystem::path& path) override;
  Result<Done> write(const OwnedFd& fd, const std::filesystem::path& path, std::span<const std::byte> bytes) override;
  Result<Done> sync(const OwnedFd& fd, const std::filesystem::path& path) override;
  Result<Done> rename(const std::filesystem::path& from, const std::filesystem::path& to) override;
  Result<Done> syncDirectory(const std::filesystem::path& directory) override;
  Result<Done> remove(const std::filesystem::path& path) override;
};

/// A file under construction beside its final name. Until commit() returns Done the old file, if any, is whole and in place; whoever
/// does not commit leaves nothing behind (a crash leaves NAME.part.PID).
class ReplacingFile {
 public:
  static Result<ReplacingFile> begin(FileSteps& steps, const std::filesystem::path& path);
  ReplacingFile(ReplacingFile&& o) noexcept;
  ReplacingFile& operator=(ReplacingFile&&) = delete;
  ~ReplacingFile();
  Result<Done> append(std::span<const std::byte> bytes);
  /// Syncs, renames over the final name, syncs the directory. Call once, last.
  Result<Done> commit();

 private:
  ReplacingFile(FileSteps& steps, std::filesystem::path path, std::filesystem::path part, OwnedFd fd);
  FileSteps* steps_;
  std::filesystem::path path_, part_;
  OwnedFd fd_;
};

/// Replaces `path` by a file that holds `bytes`: the old file or the new one is there at every moment.
Result<Done> replaceFile(FileSteps& steps, const std::filesystem::path& path, std::span<const std::byte> bytes);

}  // namespace sluice
