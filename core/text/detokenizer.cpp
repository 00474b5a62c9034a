#include "core/text/detokenizer.h"

namespace sluice {
namespace {

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";

// Bytes that a character with this lead byte has; 0 where no character has it.
int lengthOf(unsigned char lead) {
  if (lead < 0x80) return 1;
  if (lead < 0xC2) return 0;
  if (lead < 0xE0) return 2;
  if (lead < 0xF0) return 3;
  return lead < 0xF5 ? 4 : 0;
}

// Whether `byte` may follow what is pending. Only the second byte depends on the lead: no overlong form, no surrogate, nothing above U+10FFFF.
bool continues(unsigned char lead, int pending_count, unsigned char byte) {
  unsigned char low = 0x80, high = 0xBF;
  if (pending_count == 1) {
    if (lead == 0xE0) low = 0xA0;
    if (lead == 0xED) high = 0x9F;
    if (lead == 0xF0) low = 0x90;
    if (lead == 0xF4) high = 0x8F;
  }
  return low <= byte && byte <= high;
}

}  // namespace

void Detokenizer::push(TokenId id, std::string& out) { pushBytes(tokenizer_->bytesOf(id), out); }

void Detokenizer::pushBytes(std::string_view bytes, std::string& out) {
  for (const char c : bytes) {
    const auto byte = static_cast<unsigned char>(c);
    if (pending_count_ > 0) {
      if (continues(pending_[0], pending_count_, byte)) {
        pending_[pending_count_++] = byte;
        if (pending_count_ == lengthOf(pending_[0])) {
          out.append(reinterpret_cast<const char*>(pending_), std::size_t(pending_count_));
          pending_count_ = 0;
        }
        continue;
      }
      out += kReplacement;
      pending_count_ = 0;
    }
    const int length = lengthOf(byte);
    if (length == 1) {
      out += c;
    } else if (length == 0) {
      out += kReplacement;
    } else {
      pending_[0] = byte;
      pending_count_ = 1;
    }
  }
}

void Detokenizer::flush(std::string& out) {
  if (pending_count_ > 0) out += kReplacement;
  pending_count_ = 0;
}

}  // namespace sluice
