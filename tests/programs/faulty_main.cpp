// sluice-faulty: the program's own command line over a device and files that fail by a seed (tests/support/faults.h).

#include <unistd.h>

#include <CLI/CLI.hpp>

#include "cli/program.h"
#include "cli/wire.h"
#include "tests/support/faulty_device.h"
#include "tests/support/faulty_files.h"

namespace {

using namespace sluice;

/// Owns the device that it makes faulty.
class OwningFaultyDevice final : public BlockDevice {
 public:
  OwningFaultyDevice(std::unique_ptr<BlockDevice> real, const Faults& faults) : real_(std::move(real)), faulty_(*real_, faults) {}
  void submit(std::span<ReadOp* const> ops) override { faulty_.submit(ops); }
  void promote(ReadOp& op) override { faulty_.promote(op); }
  DeviceReport report() const override { return faulty_.report(); }

 private:
  std::unique_ptr<BlockDevice> real_;
  FaultyDevice faulty_;
};

/// Files that fail by faults which are known only once the command line is parsed.
class LateFaultyFiles final : public FileSteps {
 public:
  explicit LateFaultyFiles(const Faults& faults) : faults_(faults) {}
  Result<OwnedFd> create(const std::filesystem::path& path) override { return files().create(path); }
  Result<Done> write(const OwnedFd& fd, const std::filesystem::path& path, std::span<const std::byte> bytes) override { return files().write(fd, path, bytes); }
  Result<Done> sync(const OwnedFd& fd, const std::filesystem::path& path) override { return files().sync(fd, path); }
  Result<Done> rename(const std::filesystem::path& from, const std::filesystem::path& to) override { return files().rename(from, to); }
  Result<Done> syncDirectory(const std::filesystem::path& directory) override { return files().syncDirectory(directory); }
  Result<Done> remove(const std::filesystem::path& path) override { return files().remove(path); }

 private:
  FileSteps& files() {
    if (!faulty_) faulty_.emplace(real_, faults_, [] { _exit(134); });
    return *faulty_;
  }
  const Faults& faults_;
  RealFileSteps real_;
  std::optional<FaultyFiles> faulty_;
};

}  // namespace

int main(int argc, char** argv) {
  Faults faults;
  LateFaultyFiles files(faults);
  Program program;
  program.name = "sluice-faulty";
  program.files = &files;
  program.load = streamedModels([&faults](std::unique_ptr<BlockDevice> device) { return std::make_unique<OwningFaultyDevice>(std::move(device), faults); });
  program.bind = [&faults](CLI::App& command) {
    command
        .add_option_function<std::string>(
            "--faults",
            [&faults](const std::string& text) {
              const Result<Faults> parsed = parseFaults(text);
              if (!parsed.ok()) throw CLI::ValidationError("--faults", parsed.error().what);
              faults = parsed.value();
            },
            "what fails, e.g. seed=1,eio=.01,short=.05,flip=.001,delay=.1:20ms")
        ->type_name("TEXT")
        ->configurable(false);
  };
  return runProgram(argc, argv, program);
}
