#pragma once
// Lines from a person at a terminal (with history and editing), or from a pipe.

#include <optional>
#include <string>

#include "core/base/result.h"

namespace sluice {

class LineEditor {
 public:
  LineEditor();
  /// The next line without its end; nothing at the end of input. An interrupted line is empty, and `interrupted` is set.
  std::optional<std::string> read(const char* prompt, bool& interrupted);
  bool terminal() const { return terminal_; }

 private:
  bool terminal_;
};

}  // namespace sluice
