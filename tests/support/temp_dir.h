#pragma once
// A directory of a test's own, removed with all it holds.

#include <cstdlib>
#include <filesystem>
#include <string>

#include "core/base/check.h"

namespace sluice {

class TempDir {
 public:
  /// Beneath `parent`: pass /dev/shm for a memory file system.
  explicit TempDir(const std::filesystem::path& parent = std::filesystem::temp_directory_path()) {
    std::string name = (parent / "sluice-test-XXXXXX").string();
    CHECK(::mkdtemp(name.data()) != nullptr);
    path_ = name;
  }
  TempDir(const TempDir&) = delete;
  TempDir& operator=(const TempDir&) = delete;
  ~TempDir() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

}  // namespace sluice
