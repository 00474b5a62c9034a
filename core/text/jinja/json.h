#pragma once
// Between JSON and the values of a template.

#include <nlohmann/json.hpp>

#include "core/text/jinja/run.h"

namespace sluice::jinja {

/// A JSON value of the request (its text is the client's) or of the operator (`markup`: special tokens).
Result<Value> valueOf(Run& run, const nlohmann::ordered_json& json, bool markup);
/// `text` in quotes, as json.dumps spells it.
void quoteJson(std::string_view text, bool ensure_ascii, std::string& out);
/// A float as json.dumps spells it.
std::string spellJsonFloat(double value);

}  // namespace sluice::jinja
