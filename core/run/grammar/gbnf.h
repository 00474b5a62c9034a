#pragma once
// Grammars as text, in the notation that llama.cpp's users know (GBNF):
//   root ::= "yes" | "no" [ \t]* digit{1,3}      # a comment
// Literals "..." with \n \r \t \" \\ \xHH \uHHHH \UHHHHHHHH; classes [a-z^-] and [^...]; "." for any code point; ( ) | * + ? {n} {n,} {n,m}.

#include <memory>
#include <string_view>

#include "core/base/result.h"
#include "core/run/grammar/grammar.h"

namespace sluice {

/// The grammar that begins at rule `root`.
/// errors  BadRequest: names the line and what was expected, an undefined rule, or left recursion
Result<std::shared_ptr<const Grammar>> parseGbnf(std::string_view text);

}  // namespace sluice
