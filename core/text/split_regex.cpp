#include "core/text/split_regex.h"

#include <algorithm>
#include <array>
#include <utility>

#define PCRE2_CODE_UNIT_WIDTH 8
#include <fmt/format.h>
#include <pcre2.h>

namespace sluice {
namespace {

// PCRE2 counts a step for each start and each turn of a group. Honest patterns need a few for each byte they take; the largest honest piece is
// a run of newlines as long as the text.
constexpr std::uint32_t kStepsMax = 50'000'000;
// For the rare match that outgrows the 32 KiB of machine stack that JIT code starts with: reserved on first need, touched as it grows.
constexpr std::size_t kJitStackMin = 64 << 10, kJitStackMax = 256 << 20;
// For the interpreter, where that is not enough or JIT is forbidden.
constexpr std::uint32_t kHeapKiBMax = 512 << 10;
// Rewriting adds Unicode's gaps (about 700 bytes a class); vendors' patterns stay below 12 KiB.
constexpr std::size_t kPatternMax = 1 << 20;

struct FreeCode {
  void operator()(pcre2_code* p) const { pcre2_code_free(p); }
};
struct FreeCompileContext {
  void operator()(pcre2_compile_context* p) const { pcre2_compile_context_free(p); }
};
struct FreeMatchContext {
  void operator()(pcre2_match_context* p) const { pcre2_match_context_free(p); }
};
struct FreeMatchData {
  void operator()(pcre2_match_data* p) const { pcre2_match_data_free(p); }
};
struct FreeStack {
  void operator()(pcre2_jit_stack* p) const { pcre2_jit_stack_free(p); }
};

}  // namespace

struct RegexRun::State {
  std::unique_ptr<pcre2_match_data, FreeMatchData> data{pcre2_match_data_create(1, nullptr)};
  std::unique_ptr<pcre2_jit_stack, FreeStack> stack;
  std::unique_ptr<pcre2_match_context, FreeMatchContext> context{pcre2_match_context_create(nullptr)};
};

RegexRun::RegexRun() : state_(std::make_unique<State>()) {
  CHECK(state_->data != nullptr && state_->context != nullptr);  // out of memory for 100 bytes
  pcre2_set_match_limit(state_->context.get(), kStepsMax);
  pcre2_set_heap_limit(state_->context.get(), kHeapKiBMax);
}
RegexRun::RegexRun(RegexRun&&) noexcept = default;
RegexRun& RegexRun::operator=(RegexRun&&) noexcept = default;
RegexRun::~RegexRun() = default;

struct SplitRegex::Code {
  std::unique_ptr<pcre2_code, FreeCode> code;
};

SplitRegex::SplitRegex(std::unique_ptr<Code> code) : code_(std::move(code)) {}
SplitRegex::SplitRegex(SplitRegex&&) noexcept = default;
SplitRegex& SplitRegex::operator=(SplitRegex&&) noexcept = default;
SplitRegex::~SplitRegex() = default;

Result<SplitRegex> SplitRegex::compile(std::string_view pattern) {
  if (pattern.size() > kPatternMax)
    return Error{Errc::Unsupported, fmt::format("the pattern is {} bytes long when Unicode's gaps are written into it, this build reads {} at most", pattern.size(), kPatternMax)};
  const std::unique_ptr<pcre2_compile_context, FreeCompileContext> context(pcre2_compile_context_create(nullptr));
  CHECK(context != nullptr);
  pcre2_set_newline(context.get(), PCRE2_NEWLINE_LF);
  int fault = 0;
  PCRE2_SIZE fault_at = 0;
  auto code = std::make_unique<Code>();
  code->code.reset(pcre2_compile(reinterpret_cast<PCRE2_SPTR>(pattern.data()), pattern.size(), PCRE2_UTF | PCRE2_UCP | PCRE2_MULTILINE | PCRE2_NEVER_BACKSLASH_C,
                                 &fault, &fault_at, context.get()));
  if (code->code == nullptr) {
    std::array<char, 256> text{};
    pcre2_get_error_message(fault, reinterpret_cast<PCRE2_UCHAR*>(text.data()), text.size());
    return Error{Errc::Corrupt, fmt::format("the pattern does not compile: {}, before `{}`", text.data(), pattern.substr(std::min(fault_at, pattern.size()), 20))};
  }
  // Where JIT is forbidden (hardened systems) the interpreter gives the same matches, slower.
  pcre2_jit_compile(code->code.get(), PCRE2_JIT_COMPLETE);
  return SplitRegex(std::move(code));
}

SplitRegex::Found SplitRegex::find(RegexRun& run, std::string_view subject, std::size_t from, std::size_t& begin, std::size_t& end) const {
  RegexRun::State& state = *run.state_;
  const auto match = [&](std::uint32_t options) {
    return pcre2_match(code_->code.get(), reinterpret_cast<PCRE2_SPTR>(subject.data()), subject.size(), from, PCRE2_NO_UTF_CHECK | options, state.data.get(),
                       state.context.get());
  };
  int rc = match(0);
  if (rc == PCRE2_ERROR_JIT_STACKLIMIT && state.stack == nullptr) {
    state.stack.reset(pcre2_jit_stack_create(kJitStackMin, kJitStackMax, nullptr));
    if (state.stack != nullptr) {
      pcre2_jit_stack_assign(state.context.get(), nullptr, state.stack.get());
      rc = match(0);
    }
  }
  if (rc == PCRE2_ERROR_JIT_STACKLIMIT) rc = match(PCRE2_NO_JIT);
  if (rc == PCRE2_ERROR_NOMATCH) return Found::No;
  if (rc < 0) return Found::GaveUp;
  const PCRE2_SIZE* at = pcre2_get_ovector_pointer(state.data.get());
  begin = at[0];
  end = at[1];
  return Found::Yes;
}

}  // namespace sluice
