#pragma once
// Template source to tokens, with trim_blocks and lstrip_blocks on, as Jinja2's lexer cuts it.

#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"

namespace sluice::jinja {

enum class TokenKind : unsigned char { Data, PrintBegin, PrintEnd, TagBegin, TagEnd, Name, String, Integer, Float, Operator, End };

struct Token {
  TokenKind kind = TokenKind::End;
  std::string text;  // Data, Name, Operator: as written; String: unescaped; numbers: without underscores
  int line = 1;
};

/// errors  Corrupt: the sentence ends in the line
Result<std::vector<Token>> tokenize(std::string_view source, std::string_view name);

/// The sentence for a fault in a template's source.
Error syntaxError(std::string_view template_name, int line, std::string_view what);

}  // namespace sluice::jinja
