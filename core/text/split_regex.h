#pragma once
// One pattern of a pre-tokenizer, compiled by PCRE2 (JIT where the system allows it), and the state of one thread that runs it.

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

#include "core/base/result.h"

namespace sluice {

/// What one thread needs to match: made for one call of encode, used for all of its patterns. Move-only.
class RegexRun {
 public:
  RegexRun();
  RegexRun(RegexRun&&) noexcept;
  RegexRun& operator=(RegexRun&&) noexcept;
  ~RegexRun();

 private:
  friend class SplitRegex;
  struct State;
  std::unique_ptr<State> state_;
};

/// Compiled once, matched from any thread.
class SplitRegex {
 public:
  /// `pattern` is PCRE2's (core/text/regex_rewrite.h). errors  Corrupt: what PCRE2 says, and where in the rewritten pattern
  static Result<SplitRegex> compile(std::string_view pattern);
  SplitRegex(SplitRegex&&) noexcept;
  SplitRegex& operator=(SplitRegex&&) noexcept;
  ~SplitRegex();

  enum class Found { Yes, No, GaveUp };
  /// The leftmost match in `subject` (UTF-8, not checked again) that starts at or after `from`, seeing what stands before it.
  /// GaveUp: the pattern needed more steps, stack or memory on this text than any honest one does.
  Found find(RegexRun& run, std::string_view subject, std::size_t from, std::size_t& begin, std::size_t& end) const;

 private:
  struct Code;
  explicit SplitRegex(std::unique_ptr<Code> code);
  std::unique_ptr<Code> code_;
};

}  // namespace sluice
