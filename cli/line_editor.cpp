#include "cli/line_editor.h"

#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>

#include <editline/readline.h>

namespace sluice {

LineEditor::LineEditor() : terminal_(isatty(0) == 1 && isatty(1) == 1) {
  if (!terminal_) return;
  static char name[] = "sluice";
  rl_readline_name = name;
  using_history();
  stifle_history(1000);
}

std::optional<std::string> LineEditor::read(const char* prompt, bool& interrupted) {
  interrupted = false;
  errno = 0;
  if (terminal_) {
    char* line = readline(prompt);
    if (line == nullptr) {
      interrupted = errno == EINTR;
      return interrupted ? std::optional<std::string>("") : std::nullopt;
    }
    std::string text = line;
    std::free(line);
    if (!text.empty()) add_history(text.c_str());
    return text;
  }
  char* buffer = nullptr;
  std::size_t room = 0;
  const ssize_t length = ::getline(&buffer, &room, stdin);
  std::optional<std::string> text;
  if (length >= 0) {
    text = std::string(buffer, std::size_t(length));
    while (!text->empty() && (text->back() == '\n' || text->back() == '\r')) text->pop_back();
  } else if (errno == EINTR) {
    interrupted = true;
    std::clearerr(stdin);
    text = "";
  }
  std::free(buffer);
  return text;
}

}  // namespace sluice
