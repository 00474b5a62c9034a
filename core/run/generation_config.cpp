#include "core/run/generation_config.h"

#include <algorithm>

#include <fmt/format.h>

#include "core/format/json_text.h"

namespace sluice {
namespace {

using simdjson::dom::element;
using simdjson::dom::object;

constexpr Bytes kConfigBytesMax = 16_MiB;
constexpr int kDepthMax = 64;

Error wrong(const JsonText& json, const char* key, const char* expected) {
  return Error{Errc::Corrupt, fmt::format("{}: '{}' is not {}", json.what(), key, expected)};
}

Result<std::optional<double>> number(const JsonText& json, object root, const char* key) {
  element value;
  if (root[key].get(value) != simdjson::SUCCESS || value.is_null()) return std::optional<double>();
  double n = 0;
  if (value.get(n) != simdjson::SUCCESS) return wrong(json, key, "a number");
  return std::optional<double>(n);
}

Result<std::vector<TokenId>> idsUnder(const JsonText& json, object root, const char* key) {
  std::vector<TokenId> ids;
  element value;
  if (root[key].get(value) != simdjson::SUCCESS || value.is_null()) return ids;
  const auto add = [&](element one) {
    std::int64_t id = -1;
    if (one.get(id) != simdjson::SUCCESS || id < 0 || id > 0x7fffffff) return false;
    ids.push_back(TokenId(std::uint32_t(id)));
    return true;
  };
  simdjson::dom::array list;
  if (value.get(list) != simdjson::SUCCESS) {
    if (!add(value)) return wrong(json, key, "a token id or a list of them");
  } else {
    for (element one : list)
      if (!add(one)) return wrong(json, key, "a token id or a list of them");
  }
  std::sort(ids.begin(), ids.end());
  ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
  return ids;
}

Result<object> rootObject(const JsonText& json) {
  object root;
  if (json.root().get(root) != simdjson::SUCCESS) return Error{Errc::Corrupt, fmt::format("{} is not a JSON object", json.what())};
  return root;
}

// Settings that change text when they differ from their neutral value.
struct Neutral {
  const char* key;
  double value;
};
constexpr Neutral kNotHonoured[] = {
    {"repetition_penalty", 1}, {"encoder_repetition_penalty", 1}, {"frequency_penalty", 0}, {"presence_penalty", 0}, {"typical_p", 1},
    {"epsilon_cutoff", 0},     {"eta_cutoff", 0},                 {"no_repeat_ngram_size", 0}, {"num_beams", 1},
};

}  // namespace

Result<GenerationConfig> readGenerationConfig(const std::filesystem::path& directory) {
  GenerationConfig config;
  Result<JsonText> read = JsonText::readFile(directory / "generation_config.json", kConfigBytesMax, kDepthMax);
  if (!read.ok() && read.error().code == Errc::NotFound) return config;
  const JsonText json = TRY(std::move(read));
  const object root = TRY(rootObject(json));
  config.sampling.temperature = TRY(number(json, root, "temperature"));
  config.sampling.top_p = TRY(number(json, root, "top_p"));
  config.sampling.min_p = TRY(number(json, root, "min_p"));
  const std::optional<double> top_k = TRY(number(json, root, "top_k"));
  if (top_k) {
    if (*top_k != double(int(*top_k))) return wrong(json, "top_k", "a whole number");
    config.sampling.top_k = int(*top_k);
  }
  element do_sample;
  if (root["do_sample"].get(do_sample) == simdjson::SUCCESS && !do_sample.is_null()) {
    bool sampled = true;
    if (do_sample.get(sampled) != simdjson::SUCCESS) return wrong(json, "do_sample", "true or false");
    if (!sampled) config.sampling.temperature = 0;
  }
  config.stop_ids = TRY(idsUnder(json, root, "eos_token_id"));
  for (const Neutral& setting : kNotHonoured) {
    const std::optional<double> found = TRY(number(json, root, setting.key));
    if (found && *found != setting.value) config.ignored.push_back(fmt::format("{} {} (generation_config.json)", setting.key, *found));
  }
  const Result<SamplingOptions> sane = settleSampling(config.sampling, 0);
  if (!sane.ok()) return Error{Errc::Corrupt, fmt::format("{}: {}", json.what(), sane.error().what)};
  return config;
}

Result<std::vector<TokenId>> readStopIds(const std::filesystem::path& directory, const char* file) {
  Result<JsonText> read = JsonText::readFile(directory / file, kConfigBytesMax, kDepthMax);
  if (!read.ok() && read.error().code == Errc::NotFound) return std::vector<TokenId>();
  const JsonText json = TRY(std::move(read));
  const object root = TRY(rootObject(json));
  return idsUnder(json, root, "eos_token_id");
}

}  // namespace sluice
