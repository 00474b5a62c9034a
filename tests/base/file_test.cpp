// Goal:   reads finish or say why; a write leaves the old file or the new one, never a part.
// Method: real files in a directory of the test's own; writing through steps that fail or stop at each point in turn.

#include "core/base/file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>
#include <thread>

#include <gtest/gtest.h>

#include "tests/support/faulty_files.h"
#include "tests/support/temp_dir.h"

namespace sluice {
namespace {

std::span<const std::byte> bytesOf(const std::string& text) { return std::as_bytes(std::span(text)); }

std::string contentOf(const std::filesystem::path& path) { return readWholeFile(path, 1_MiB).value(); }

std::size_t entriesIn(const std::filesystem::path& directory) {
  return std::size_t(std::distance(std::filesystem::directory_iterator(directory), std::filesystem::directory_iterator()));
}

TEST(File, ReadsExactlyWhatIsAskedFor) {
  const TempDir dir;
  std::ofstream(dir.path() / "a") << "0123456789";
  const OwnedFd fd = openRead(dir.path() / "a").value();
  std::string out(4, ' ');
  ASSERT_TRUE(readExactly(fd, dir.path() / "a", 3, std::as_writable_bytes(std::span(out))).ok());
  EXPECT_EQ(out, "3456");
}

TEST(File, NamesTheByteWhereATruncatedFileEnds) {
  const TempDir dir;
  std::ofstream(dir.path() / "short") << "0123456789";
  const OwnedFd fd = openRead(dir.path() / "short").value();
  std::string out(8, ' ');
  const Result<Done> got = readExactly(fd, dir.path() / "short", 5, std::as_writable_bytes(std::span(out)));
  ASSERT_FALSE(got.ok());
  EXPECT_EQ(got.error().code, Errc::Corrupt);
  EXPECT_NE(got.error().what.find("short ends at byte 10, bytes 5 to 13"), std::string::npos) << got.error().what;
}

TEST(File, SaysWhichFileIsMissingOrNoFile) {
  const TempDir dir;
  const Result<OwnedFd> missing = openRead(dir.path() / "nowhere");
  ASSERT_FALSE(missing.ok());
  EXPECT_EQ(missing.error().code, Errc::NotFound);
  EXPECT_NE(missing.error().what.find("nowhere"), std::string::npos);
  const Result<OwnedFd> directory = openRead(dir.path());
  ASSERT_FALSE(directory.ok());
  EXPECT_EQ(directory.error().code, Errc::Io);
  ASSERT_EQ(::mkfifo((dir.path() / "pipe").c_str(), 0600), 0);
  const Result<OwnedFd> pipe = openRead(dir.path() / "pipe");  // and it does not hang
  ASSERT_FALSE(pipe.ok());
  EXPECT_NE(pipe.error().what.find("not a regular file"), std::string::npos);
}

TEST(File, ReadsPipesToTheirEnd_AndRefusesWhatIsTooLong) {
  const TempDir dir;
  ASSERT_EQ(::mkfifo((dir.path() / "pipe").c_str(), 0600), 0);
  std::thread writer([&] { std::ofstream(dir.path() / "pipe") << std::string(200'000, 'x'); });
  EXPECT_EQ(contentOf(dir.path() / "pipe").size(), 200'000u);
  writer.join();
  std::ofstream(dir.path() / "long") << std::string(1001, 'x');
  EXPECT_TRUE(readWholeFile(dir.path() / "long", Bytes(1001)).ok());
  const Result<std::string> refused = readWholeFile(dir.path() / "long", Bytes(1000));
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, Errc::BadRequest);
}

TEST(File, IdentityChangesWithContentAndWithReplacement) {
  const TempDir dir;
  const std::filesystem::path path = dir.path() / "model";
  std::ofstream(path) << "one";
  const FileIdentity before = identityAt(path).value();
  EXPECT_EQ(identityOf(openRead(path).value(), path).value(), before);
  std::ofstream(path, std::ios::app) << "more";
  EXPECT_NE(identityAt(path).value(), before);
  std::ofstream(dir.path() / "other") << "one";
  std::filesystem::rename(dir.path() / "other", path);
  EXPECT_NE(identityAt(path).value().inode, before.inode);
}

TEST(File, AnOwnerClosesItsDescriptor) {
  const TempDir dir;
  std::ofstream(dir.path() / "a") << "x";
  int number = -1;
  {
    OwnedFd fd = openRead(dir.path() / "a").value();
    number = fd.get();
    OwnedFd other = std::move(fd);
    EXPECT_FALSE(fd.valid());  // NOLINT: that it is empty is the promise
    EXPECT_EQ(::fcntl(number, F_GETFD) >= 0, true);
  }
  EXPECT_LT(::fcntl(number, F_GETFD), 0);
}

TEST(ReplacingFile, ReplacesAtCommit_AndLeavesNothingBeside) {
  const TempDir dir;
  RealFileSteps steps;
  const std::filesystem::path path = dir.path() / "state";
  ASSERT_TRUE(replaceFile(steps, path, bytesOf("old")).ok());
  EXPECT_EQ(contentOf(path), "old");
  {
    ReplacingFile file = ReplacingFile::begin(steps, path).value();
    ASSERT_TRUE(file.append(bytesOf("new ")).ok());
    EXPECT_EQ(contentOf(path), "old");
    ASSERT_TRUE(file.append(bytesOf("text")).ok());
    ASSERT_TRUE(file.commit().ok());
  }
  EXPECT_EQ(contentOf(path), "new text");
  {
    ReplacingFile given_up = ReplacingFile::begin(steps, path).value();
    ASSERT_TRUE(given_up.append(bytesOf("half")).ok());
  }
  EXPECT_EQ(contentOf(path), "new text");
  EXPECT_EQ(entriesIn(dir.path()), 1u);
}

TEST(ReplacingFile, KeepsTheOldFile_WhenTheDiskIsFull) {
  const TempDir dir;
  RealFileSteps real;
  const std::filesystem::path path = dir.path() / "state";
  ASSERT_TRUE(replaceFile(real, path, bytesOf("old")).ok());
  Faults faults;
  faults.enospc_after = 5;
  FaultyFiles full(real, faults, [] {});
  const Result<Done> refused = replaceFile(full, path, bytesOf("longer than five"));
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, Errc::Io);
  EXPECT_NE(refused.error().what.find("No space left"), std::string::npos) << refused.error().what;
  EXPECT_EQ(contentOf(path), "old");
  EXPECT_EQ(entriesIn(dir.path()), 1u);
}

// create, write, sync, rename, sync of the directory: a process that ends before any of them leaves a whole file.
TEST(ReplacingFile, LeavesAWholeFile_WhereverTheProcessEnds) {
  std::string seen;
  for (std::uint64_t step = 1; step <= 5; ++step) {
    const TempDir dir;
    const std::filesystem::path path = dir.path() / "state";
    RealFileSteps real;
    ASSERT_TRUE(replaceFile(real, path, bytesOf("old")).ok());
    Faults faults;
    faults.crash_at = step;
    EXPECT_EXIT(
        {
          FaultyFiles steps(real, faults, [] { ::_exit(77); });
          static_cast<void>(replaceFile(steps, path, bytesOf("new")));
          ::_exit(0);
        },
        testing::ExitedWithCode(77), "");
    seen += contentOf(path) + " ";
  }
  EXPECT_EQ(seen, "old old old old new ");
}

}  // namespace
}  // namespace sluice
