#pragma once
// Tokens to a Program: Jinja2's grammar, with break, continue and generation.

#include <string_view>

#include "core/base/result.h"
#include "core/text/jinja/ast.h"

namespace sluice::jinja {

/// errors  Corrupt (line and what was expected), Unsupported (a filter that only exists elsewhere)
Result<Program> parseTemplate(std::string_view source, std::string_view name);

}  // namespace sluice::jinja
