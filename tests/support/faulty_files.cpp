#include "tests/support/faulty_files.h"

#include <cerrno>

namespace sluice {

void FaultyFiles::step() {
  if (++steps_ == faults_.crash_at) crash_();
}

Result<OwnedFd> FaultyFiles::create(const std::filesystem::path& path) {
  step();
  return real_.create(path);
}

// A full disk takes what still fits, and then no more.
Result<Done> FaultyFiles::write(const OwnedFd& fd, const std::filesystem::path& path, std::span<const std::byte> bytes) {
  step();
  if (!faults_.enospc_after || bytes_ + bytes.size() <= *faults_.enospc_after) {
    bytes_ += bytes.size();
    return real_.write(fd, path, bytes);
  }
  TRY(real_.write(fd, path, bytes.first(std::size_t(*faults_.enospc_after - bytes_))));
  bytes_ = *faults_.enospc_after;
  return Error{Errc::Io, "cannot write " + path.string() + ": " + errnoText(ENOSPC)};
}

Result<Done> FaultyFiles::sync(const OwnedFd& fd, const std::filesystem::path& path) {
  step();
  return real_.sync(fd, path);
}

Result<Done> FaultyFiles::rename(const std::filesystem::path& from, const std::filesystem::path& to) {
  step();
  return real_.rename(from, to);
}

Result<Done> FaultyFiles::syncDirectory(const std::filesystem::path& directory) {
  step();
  return real_.syncDirectory(directory);
}

Result<Done> FaultyFiles::remove(const std::filesystem::path& path) {
  step();
  return real_.remove(path);
}

}  // namespace sluice
