// Any bytes as a tokenizer.json: refused in a sentence, or a tokenizer whose ids stay in its table, and that takes no plain text for control.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "core/base/check.h"
#include "core/text/tokenizer.h"
#include "core/text/unicode_gap.h"
#include "core/text/utf8.h"

namespace {

bool isBlank(std::string_view text) {
  for (std::size_t at = 0; at < text.size();) {
    const sluice::CodePoint c = sluice::codePointAt(text, at);
    if (!sluice::contains(sluice::whiteSpace(), c.value)) return false;
    at += std::size_t(c.bytes);
  }
  return true;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace sluice;
  const std::string_view json(reinterpret_cast<const char*>(data), size);
  const auto tokenizer = Tokenizer::parse(json, "fuzz");
  if (!tokenizer.ok()) {
    CHECK(tokenizer.error().what.starts_with("fuzz: "));
    return 0;
  }
  for (const std::string_view text : {"It's 12345 caf\xC3\xA9\r\n\n  <|user|>\t", "", "e\xCC\x81\xF0\x9F\x98\x80 <|endoftext|>don't"})
    for (const bool markup : {false, true}) {
      const auto ids = tokenizer.value().encode(text, markup, markup);
      if (!ids.ok()) {
        CHECK(ids.error().code == Errc::BadRequest);
        continue;
      }
      for (const TokenId id : ids.value()) {
        CHECK(id.value() < std::uint32_t(tokenizer.value().size()));
        CHECK(markup || !tokenizer.value().isSpecial(id) || isBlank(tokenizer.value().bytesOf(id)));
      }
    }
  return 0;
}
