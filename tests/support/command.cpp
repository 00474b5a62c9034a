#include "tests/support/command.h"

#include <cerrno>
#include <cstring>
#include <string_view>

#include <fcntl.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

extern char** environ;

namespace sluice {

namespace {

// A file in memory that a program reads or writes; nothing can block on it, whatever its size.
class MemoryFile {
 public:
  MemoryFile() : fd_(::memfd_create("command", MFD_CLOEXEC)) {}
  ~MemoryFile() {
    if (fd_ >= 0) ::close(fd_);
  }
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;
  int fd() const { return fd_; }

  bool fill(std::string_view text) const {
    while (!text.empty()) {
      const ssize_t n = ::write(fd_, text.data(), text.size());
      if (n <= 0) return false;
      text.remove_prefix(std::size_t(n));
    }
    return ::lseek(fd_, 0, SEEK_SET) == 0;
  }

  std::string text() const {
    std::string all;
    char buffer[65536];
    ::lseek(fd_, 0, SEEK_SET);
    for (ssize_t n = 0; (n = ::read(fd_, buffer, sizeof buffer)) > 0;) all.append(buffer, std::size_t(n));
    return all;
  }

 private:
  int fd_;
};

std::vector<std::string> environmentOf(const CommandSetting& setting) {
  std::vector<std::string> all;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view text(*entry);
    bool is_replaced = false;
    for (const auto& [name, value] : setting.environment) is_replaced = is_replaced || text.starts_with(name + "=");
    if (!is_replaced) all.emplace_back(text);
  }
  for (const auto& [name, value] : setting.environment) all.push_back(name + "=" + value);
  return all;
}

std::vector<char*> pointersTo(std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  for (std::string& text : texts) pointers.push_back(text.data());
  pointers.push_back(nullptr);
  return pointers;
}

}  // namespace

Result<CommandOutput> runCommand(const std::vector<std::string>& argv, const CommandSetting& setting) {
  CHECK(!argv.empty());
  const MemoryFile in, out, err;
  if (in.fd() < 0 || out.fd() < 0 || err.fd() < 0 || !in.fill(setting.input)) return Error{Errc::Io, "no file in memory for the output of " + argv[0]};
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, in.fd(), STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&actions, out.fd(), STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions, err.fd(), STDERR_FILENO);
  if (!setting.folder.empty()) posix_spawn_file_actions_addchdir_np(&actions, setting.folder.c_str());
  std::vector<std::string> arguments = argv, environment = environmentOf(setting);
  pid_t child = 0;
  const int failure = ::posix_spawnp(&child, argv[0].c_str(), &actions, nullptr, pointersTo(arguments).data(), pointersTo(environment).data());
  posix_spawn_file_actions_destroy(&actions);
  if (failure != 0) return Error{Errc::Io, "cannot run " + argv[0] + ": " + std::strerror(failure)};
  int status = 0;
  while (::waitpid(child, &status, 0) < 0) {
    if (errno != EINTR) return Error{Errc::Io, "waiting for " + argv[0] + ": " + std::strerror(errno)};
  }
  const int code = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
  return CommandOutput{code, out.text(), err.text()};
}

}  // namespace sluice
