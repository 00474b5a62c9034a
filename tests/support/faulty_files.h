#pragma once
// Writing that fails by --faults: a full disk after so many bytes, or the end of the process at a step.

#include "core/base/file.h"
#include "tests/support/faults.h"

namespace sluice {

class FaultyFiles final : public FileSteps {
 public:
  /// `crash` is called at the step that --faults names, and must not return.
  using Crash = void (*)();
  FaultyFiles(FileSteps& real, const Faults& faults, Crash crash) : real_(real), faults_(faults), crash_(crash) {}
  Result<OwnedFd> create(const std::filesystem::path& path) override;
  Result<Done> write(const OwnedFd& fd, const std::filesystem::path& path, std::span<const std::byte> bytes) override;
  Result<Done> sync(const OwnedFd& fd, const std::filesystem::path& path) override;
  Result<Done> rename(const std::filesystem::path& from, const std::filesystem::path& to) override;
  Result<Done> syncDirectory(const std::filesystem::path& directory) override;
  Result<Done> remove(const std::filesystem::path& path) override;

 private:
  void step();
  FileSteps& real_;
  const Faults faults_;
  const Crash crash_;
  std::uint64_t steps_ = 0, bytes_ = 0;
};

}  // namespace sluice
