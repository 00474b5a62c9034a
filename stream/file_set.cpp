#include "stream/file_set.h"

#include <fmt/format.h>

namespace sluice {
namespace {

bool sameFile(const ModelFile& file, const FileIdentity& now) {
  return now == FileIdentity{file.size, file.device, file.inode, file.modified_ns};
}

Error replaced(const ModelFile& file, const FileIdentity& now) {
  return Error{Errc::Corrupt,
               fmt::format("model file {} was replaced while running: its header was read from a file of {} bytes (inode {}), now there is one "
                           "of {} bytes (inode {}){}; restart to use the new file",
                           file.path.string(), file.size, file.inode, now.size, now.inode,
                           now.size == file.size && now.inode == file.inode ? ", rewritten in place" : "")};
}

Result<OwnedFd> openChecked(const ModelFile& file, Caching caching) {
  OwnedFd fd = TRY(openRead(file.path, caching));
  const FileIdentity now = TRY(identityOf(fd, file.path));
  if (!sameFile(file, now)) return replaced(file, now);
  return fd;
}

}  // namespace

Result<Done> checkUnchanged(const ModelFile& file) {
  const Result<FileIdentity> now = identityAt(file.path);
  if (!now.ok())
    return Error{Errc::Corrupt,
                 fmt::format("model file {} was replaced while running: {}; put the file back and restart", file.path.string(), now.error().what)};
  if (!sameFile(file, now.value())) return replaced(file, now.value());
  return Done{};
}

Result<FileSet> FileSet::open(std::span<const ModelFile> files, Caching caching) {
  FileSet set;
  set.entries_.reserve(files.size());
  for (const ModelFile& file : files) {
    Entry entry{file, OwnedFd(), OwnedFd()};
    if (caching == Caching::Direct) {
      Result<OwnedFd> direct = openChecked(file, Caching::Direct);
      if (direct.ok()) {
        entry.direct = std::move(direct).value();
      } else if (direct.error().code != Errc::Unsupported) {
        return std::move(direct).error();
      } else {
        set.guard_->report.warnOnce("direct_refused", fmt::format("{}; it is read through the page cache, which is slower", direct.error().what));
      }
    }
    if (!entry.direct.valid()) entry.buffered = TRY(openChecked(file, Caching::Buffered));
    set.entries_.push_back(std::move(entry));
  }
  return set;
}

FileSet::Handle FileSet::handle(std::uint32_t file) const {
  CHECK(file < entries_.size());
  const std::lock_guard lock(guard_->mutex);
  const Entry& entry = entries_[file];
  return entry.buffered.valid() ? Handle{entry.buffered.get(), false} : Handle{entry.direct.get(), true};
}

Result<Done> FileSet::fallBack(std::uint32_t file) {
  CHECK(file < entries_.size());
  const std::lock_guard lock(guard_->mutex);
  Entry& entry = entries_[file];
  if (entry.buffered.valid()) return Done{};
  entry.buffered = TRY(openChecked(entry.file, Caching::Buffered));
  guard_->report.warnOnce("direct_refused", fmt::format("{}: the file system refuses O_DIRECT reads; it is read through the page cache, which is slower",
                                                        entry.file.path.string()));
  return Done{};
}

int FileSet::firstDescriptor(std::uint32_t file) const {
  CHECK(file < entries_.size());
  const std::lock_guard lock(guard_->mutex);
  const Entry& entry = entries_[file];
  return entry.direct.valid() ? entry.direct.get() : entry.buffered.get();
}

void FileSet::warn(std::string_view code, std::string text) {
  const std::lock_guard lock(guard_->mutex);
  guard_->report.warnOnce(code, std::move(text));
}

int FileSet::bufferedCount() const {
  const std::lock_guard lock(guard_->mutex);
  int count = 0;
  for (const Entry& entry : entries_) count += entry.buffered.valid() ? 1 : 0;
  return count;
}

Report FileSet::report() const {
  const std::lock_guard lock(guard_->mutex);
  return guard_->report;
}

}  // namespace sluice
