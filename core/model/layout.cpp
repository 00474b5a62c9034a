#include "core/model/layout.h"

#include <optional>
#include <system_error>

#include <fmt/format.h>

#include "core/format/json_text.h"
#include "core/format/tensor_directory.h"
#include "core/model/glm_moe_dsa.h"
#include "core/model/inspect.h"

namespace sluice {
namespace {

constexpr Bytes kConfigBytesMax = 16_MiB;
constexpr int kConfigDepthMax = 32;

Result<std::optional<JsonText>> readOptional(const std::filesystem::path& path) {
  std::error_code error;
  if (!std::filesystem::exists(path, error)) return std::optional<JsonText>();
  return std::optional<JsonText>(TRY(JsonText::readFile(path, kConfigBytesMax, kConfigDepthMax)));
}

Result<JsonText> readConfig(const std::filesystem::path& directory) {
  std::error_code error;
  const auto status = std::filesystem::status(directory, error);
  if (!std::filesystem::exists(status)) return Error{Errc::NotFound, fmt::format("there is no model directory {}", directory.string())};
  if (!std::filesystem::is_directory(status))
    return Error{Errc::NotFound, fmt::format("{} is not a directory; give the directory that holds the model's config.json", directory.string())};
  std::optional<JsonText> config = TRY(readOptional(directory / "config.json"));
  if (!config) return Error{Errc::NotFound, fmt::format("{} holds no config.json; is this the model's directory?", directory.string())};
  return std::move(*config);
}

}  // namespace

Result<ModelLayout> openLayout(const std::filesystem::path& directory) {
  const JsonText config = TRY(readConfig(directory));
  const std::optional<JsonText> generation = TRY(readOptional(directory / "generation_config.json"));
  std::string_view family;
  if (config.root()["model_type"].get(family) != simdjson::SUCCESS)
    return Error{Errc::Corrupt, fmt::format("{} has no model_type; copy the file again", config.what())};
  if (family != kGlmMoeDsa)
    return Error{Errc::Unsupported, fmt::format("{} is of model_type '{}', which is not read yet; {} is (GLM-5 to 5.3)", config.what(), printable(family, 60), kGlmMoeDsa)};
  ModelLayout out;
  out.config = TRY(glmMoeDsaConfig(config, generation ? &*generation : nullptr, out.warnings));
  const TensorDirectory tensors = TRY(TensorDirectory::open(directory));
  out.files = tensors.files();
  Result<Done> found = glmMoeDsaTensors(tensors, glmMoeDsaTiesHead(config), out);
  if (!found.ok()) return Error{found.error().code, fmt::format("{}: {}", directory.string(), found.error().what)};
  for (LayoutWarning& warning : formatWarnings(out)) out.warnings.push_back(std::move(warning));
  return out;
}

}  // namespace sluice
