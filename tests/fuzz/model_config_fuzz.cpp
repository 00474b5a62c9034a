// Any bytes as config.json and as generation_config.json: a config that is accepted has sizes that multiply without leaving their types.

#include <string>

#include "core/base/check.h"
#include "core/model/glm_moe_dsa.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace sluice;
  const auto text = JsonText::parse(std::string(reinterpret_cast<const char*>(data), size), 32, "fuzz");
  if (!text.ok()) return 0;
  std::vector<LayoutWarning> warnings;
  const auto config = glmMoeDsaConfig(text.value(), &text.value(), warnings);
  if (!config.ok()) {
    CHECK(!config.error().what.empty());
    return 0;
  }
  const ModelConfig& c = config.value();
  CHECK(c.vocabulary > 0 && c.hidden > 0 && !c.layers.empty() && c.router.top_k >= 1 && c.router.top_k <= c.router.experts);
  CHECK(std::int64_t(c.mla.heads) * (c.mla.nope + c.mla.v) <= 1 << 26 && c.shared_inter <= 1 << 26 && 2 * c.hidden > 0);
  CHECK(c.mla.rope % 2 == 0 && c.rms_eps > 0);
  for (const TokenId id : c.stop_ids) CHECK(int(id.value()) < c.vocabulary);
  return 0;
}
