#pragma once
// JSON schemas as grammars: the subset that OpenAI's strict mode documents (types, enum, const, anyOf, $ref and $defs with recursion, properties, items,
// minItems, maxItems, pattern, format, minimum, maximum, exclusive bounds, multipleOf, minLength, maxLength). A keyword outside it is refused by
// name: a promise that cannot be kept is not made.

#include <memory>

#include <nlohmann/json.hpp>

#include "core/base/result.h"
#include "core/run/grammar/grammar.h"

namespace sluice {

/// White space between two JSON tokens is at most this long, so that a model that prefers blanks still ends.
constexpr int kJsonBlankMax = 8;

/// The texts of all JSON values that fit `schema`. Objects carry their properties in the schema's order; those not in `required` may be left out.
/// errors  BadRequest: names the keyword and where it stands (as a JSON pointer), or a range that holds no number
Result<std::shared_ptr<const Grammar>> compileJsonSchema(const nlohmann::ordered_json& schema);
/// Any JSON object (response_format json_object).
Result<std::shared_ptr<const Grammar>> anyJsonObject();

}  // namespace sluice
