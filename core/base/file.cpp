#include "core/base/file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <system_error>

#include <fmt/format.h>

namespace sluice {
namespace {

// One read or write moves at most this much: Linux stops at 2 GiB less a page.
constexpr std::size_t kTransferMax = std::size_t(1) << 30;

Error systemError(const char* doing, const std::filesystem::path& path, int error) {
  const Errc code = error == ENOENT || error == ENOTDIR ? Errc::NotFound : Errc::Io;
  return Error{code, fmt::format("cannot {} {}: {}", doing, path.string(), errnoText(error))};
}

FileIdentity identityFrom(const struct stat& s) {
  return {std::uint64_t(s.st_size), std::uint64_t(s.st_dev), std::uint64_t(s.st_ino),
          std::int64_t(s.st_mtim.tv_sec) * 1'000'000'000 + s.st_mtim.tv_nsec};
}

}  // namespace

OwnedFd& OwnedFd::operator=(OwnedFd&& o) noexcept {
  if (this != &o) {
    if (fd_ >= 0) ::close(fd_);
    fd_ = std::exchange(o.fd_, -1);
  }
  return *this;
}

OwnedFd::~OwnedFd() {
  if (fd_ >= 0) ::close(fd_);
}

std::string errnoText(int error) { return std::generic_category().message(error); }

Result<OwnedFd> openRead(const std::filesystem::path& path, Caching caching) {
  // O_NONBLOCK: a FIFO that bears a model file's name must not hang us; it means nothing for a regular file.
  const int flags = O_RDONLY | O_CLOEXEC | O_NONBLOCK | (caching == Caching::Direct ? O_DIRECT : 0);
  OwnedFd fd(::open(path.c_str(), flags));
  if (!fd.valid()) {
    if (errno == EINVAL && caching == Caching::Direct)
      return Error{Errc::Unsupported, fmt::format("{}: the file system refuses O_DIRECT", path.string())};
    return systemError("open", path, errno);
  }
  struct stat s{};
  if (::fstat(fd.get(), &s) != 0) return systemError("stat", path, errno);
  if (!S_ISREG(s.st_mode)) return Error{Errc::Io, fmt::format("cannot read {}: it is not a regular file", path.string())};
  return fd;
}

Result<FileIdentity> identityOf(const OwnedFd& fd, const std::filesystem::path& path) {
  struct stat s{};
  if (::fstat(fd.get(), &s) != 0) return systemError("stat", path, errno);
  return identityFrom(s);
}

Result<FileIdentity> identityAt(const std::filesystem::path& path) {
  struct stat s{};
  if (::stat(path.c_str(), &s) != 0) return systemError("stat", path, errno);
  return identityFrom(s);
}

Result<Done> readExactly(const OwnedFd& fd, const std::filesystem::path& path, std::uint64_t offset, std::span<std::byte> out) {
  std::size_t filled = 0;
  while (filled < out.size()) {
    const std::size_t want = std::min(out.size() - filled, kTransferMax);
    const ssize_t got = ::pread(fd.get(), out.data() + filled, want, off_t(offset + filled));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return systemError("read", path, errno);
    if (got == 0)
      return Error{Errc::Corrupt, fmt::format("{} ends at byte {}, bytes {} to {} were expected: the file is truncated; copy it again",
                                              path.string(), offset + filled, offset, offset + out.size())};
    filled += std::size_t(got);
  }
  return Done{};
}

Result<std::string> readWholeFile(const std::filesystem::path& path, Bytes bytes_max) {
  const OwnedFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd.valid()) return systemError("open", path, errno);
  std::string text;
  for (;;) {
    const std::size_t before = text.size();
    const std::size_t piece = std::max<std::size_t>(before, std::size_t(64) << 10);
    text.resize(before + piece);
    const ssize_t got = ::read(fd.get(), text.data() + before, std::min(piece, kTransferMax));
    if (got < 0 && errno != EINTR) return systemError("read", path, errno);
    text.resize(before + std::size_t(std::max<ssize_t>(got, 0)));
    if (text.size() > bytes_max.count())
      return Error{Errc::BadRequest, fmt::format("{} is longer than the {} bytes that are read of such a file", path.string(), bytes_max.count())};
    if (got == 0) return text;
  }
}

Result<OwnedFd> RealFileSteps::create(const std::filesystem::path& path) {
  OwnedFd fd(::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
  if (!fd.valid()) return systemError("create", path, errno);
  return fd;
}

Result<Done> RealFileSteps::write(const OwnedFd& fd, const std::filesystem::path& path, std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t put = ::write(fd.get(), bytes.data(), std::min(bytes.size(), kTransferMax));
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) return systemError("write", path, errno);
    bytes = bytes.subspan(std::size_t(put));
  }
  return Done{};
}

Result<Done> RealFileSteps::sync(const OwnedFd& fd, const std::filesystem::path& path) {
  if (::fsync(fd.get()) != 0) return systemError("sync", path, errno);
  return Done{};
}

Result<Done> RealFileSteps::rename(const std::filesystem::path& from, const std::filesystem::path& to) {
  if (::rename(from.c_str(), to.c_str()) != 0)
    return Error{Errc::Io, fmt::format("cannot rename {} to {}: {}", from.string(), to.string(), errnoText(errno))};
  return Done{};
}

Result<Done> RealFileSteps::syncDirectory(const std::filesystem::path& directory) {
  const OwnedFd fd(::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!fd.valid()) return systemError("open", directory, errno);
  // Some file systems (FUSE, network) can't sync a directory and say EINVAL: then the rename is as lasting as they make it.
  if (::fsync(fd.get()) != 0 && errno != EINVAL) return systemError("sync", directory, errno);
  return Done{};
}

Result<Done> RealFileSteps::remove(const std::filesystem::path& path) {
  if (::unlink(path.c_str()) != 0) return systemError("remove", path, errno);
  return Done{};
}

ReplacingFile::ReplacingFile(FileSteps& steps, std::filesystem::path path, std::filesystem::path part, OwnedFd fd)
    : steps_(&steps), path_(std::move(path)), part_(std::move(part)), fd_(std::move(fd)) {}

ReplacingFile::ReplacingFile(ReplacingFile&& o) noexcept
    : steps_(o.steps_), path_(std::move(o.path_)), part_(std::move(o.part_)), fd_(std::move(o.fd_)) {}

ReplacingFile::~ReplacingFile() {
  if (!fd_.valid()) return;
  // The file was given up; that its beginning can't be removed either changes nothing for the reader of the old one.
  const Result<Done> removed = steps_->remove(part_);
  static_cast<void>(removed);
}

Result<ReplacingFile> ReplacingFile::begin(FileSteps& steps, const std::filesystem::path& path) {
  std::filesystem::path part = path;
  part += fmt::format(".part.{}", ::getpid());
  OwnedFd fd = TRY(steps.create(part));
  return ReplacingFile(steps, path, std::move(part), std::move(fd));
}

Result<Done> ReplacingFile::append(std::span<const std::byte> bytes) { return steps_->write(fd_, part_, bytes); }

Result<Done> ReplacingFile::commit() {
  CHECK(fd_.valid());
  TRY(steps_->sync(fd_, part_));
  TRY(steps_->rename(part_, path_));
  fd_ = OwnedFd();  // committed: nothing of ours is left to remove
  const std::filesystem::path parent = path_.parent_path();
  return steps_->syncDirectory(parent.empty() ? std::filesystem::path(".") : parent);
}

Result<Done> replaceFile(FileSteps& steps, const std::filesystem::path& path, std::span<const std::byte> bytes) {
  ReplacingFile file = TRY(ReplacingFile::begin(steps, path));
  TRY(file.append(bytes));
  return file.commit();
}

}  // namespace sluice
