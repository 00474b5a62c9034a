#pragma once
// The world's faults (file, disk, request, budget) as values. Ours are CHECKs (core/base/check.h).

#include <string>
#include <utility>
#include <variant>

#include "core/base/check.h"

namespace sluice {

/// What kind of fault; `cli` maps each to an exit code and HTTP status, in one table each.
enum class Errc {
  BadRequest,   // the caller asked for what cannot be: a flag, a field, a prompt longer than the context
  NotFound,     // a file, a tensor or a name does not exist
  Corrupt,      // bytes that contradict themselves or what was recorded of them
  Unsupported,  // well-formed, and not read (yet) by this build
  OutOfBudget,  // does not fit the memory that was granted
  Io,           // the disk or the system refused
  Numeric,      // NaN or infinity where numbers must be
  Cancelled,    // somebody asked to stop
  Deadline,     // a limit of time ran out
};

struct Error {
  Errc code;
  std::string what;  // one sentence: which thing, where, the numbers, and the cure if there is one
};

/// A value or an Error. [[nodiscard]] as a class, so that no call can be ignored by accident.
template <class T>
class [[nodiscard]] Result {
 public:
  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}      // NOLINT: implicit on purpose
  Result(Error error) : state_(std::in_place_index<1>, std::move(error)) {}  // NOLINT: implicit on purpose
  bool ok() const { return state_.index() == 0; }
  T& value() & {
    CHECK(ok());
    return *std::get_if<0>(&state_);
  }
  const T& value() const& {
    CHECK(ok());
    return *std::get_if<0>(&state_);
  }
  T value() && {
    CHECK(ok());
    return std::move(*std::get_if<0>(&state_));
  }
  const Error& error() const& {
    CHECK(!ok());
    return *std::get_if<1>(&state_);
  }
  Error error() && {
    CHECK(!ok());
    return std::move(*std::get_if<1>(&state_));
  }

 private:
  std::variant<T, Error> state_;
};

/// Result<Done> for functions with nothing to say: `return Done{};`.
struct Done {};

}  // namespace sluice

/// Value of `expr`, or return its Error from the calling function. GNU statement expression: g++ and clang. Uses may be nested: each has
/// a name of its own for its result.
#define TRY(expr) SLUICE_TRY_NUMBERED(expr, __COUNTER__)
#define SLUICE_TRY_NUMBERED(expr, number) SLUICE_TRY_NAMED(expr, number)
#define SLUICE_TRY_NAMED(expr, number) SLUICE_TRY_AS(expr, try_result_##number)
#define SLUICE_TRY_AS(expr, name)                                      \
  __extension__({                                                      \
    auto name = (expr);                                                \
    if (!name.ok()) return std::move(name).error();                    \
    std::move(name).value();                                           \
  })
