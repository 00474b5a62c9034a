#pragma once
// '%' and str.format, and HTML escaping.

#include "core/text/jinja/run.h"

namespace sluice::jinja {

/// format % argument, Python's printf.
Result<Value> percentFormat(Run& run, const Value& format, const Value& argument);
/// format.format(*positional, **named).
Result<Value> braceFormat(Run& run, const Value& format, Arguments& arguments);
/// str(value) with & < > " ' as entities; what is Markup already stays.
Result<Text> escapedText(Run& run, const Value& value);
/// `text` filled up to `width` characters; align is '<', '>', '^', 'c' (str.center) or '=' (after the first `head` bytes: sign and prefix).
/// `fill` is one character.
Result<Text> padded(Run& run, const Text& text, std::int64_t width, char align, const Text& fill, std::size_t head = 0);

}  // namespace sluice::jinja
