#pragma once
// A model's generation_config.json: its makers' defaults for drawing tokens.

#include <filesystem>
#include <string>
#include <vector>

#include "core/base/ids.h"
#include "core/base/result.h"
#include "core/run/sampling_options.h"

namespace sluice {

struct GenerationConfig {
  SamplingRequest sampling;             // `do_sample: false` is temperature 0
  std::vector<TokenId> stop_ids;        // eos_token_id, sorted
  std::vector<std::string> ignored;     // settings found there that would change text and are not honoured by this build
};

/// Reads DIRECTORY/generation_config.json; an absent file is an empty config.
/// errors  Corrupt (names the key, what was found and what was expected), Io
Result<GenerationConfig> readGenerationConfig(const std::filesystem::path& directory);

/// eos_token_id of DIRECTORY/FILE: an id, a list, or absent (none). For models whose layout is not opened.
Result<std::vector<TokenId>> readStopIds(const std::filesystem::path& directory, const char* file);

}  // namespace sluice
