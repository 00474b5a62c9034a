#pragma once
// What happened, as the documents of --json and as lines for a person.

#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "cli/answer.h"

namespace sluice {

/// XXH3-64, sixteen hex digits.
std::string xxh3Text(std::string_view text);

/// Names model, build and the options that can change a text; equal fingerprints and prompts give equal texts.
std::string fingerprintOf(const App& app, const Options& options, const SamplingOptions& sampling, const TokenLimit& limit);

nlohmann::ordered_json statsJson(const App& app, const Answer& answer);
nlohmann::ordered_json samplingJson(const SamplingOptions& sampling);
nlohmann::ordered_json warningsJson(const std::vector<Warning>& warnings);
/// The document of `run --json`.
nlohmann::ordered_json answerJson(const App& app, const Answer& answer, const Options& options, const SamplingOptions& sampling, const TokenLimit& limit);

/// Text that stands in JSON; what is not UTF-8 becomes U+FFFD.
std::string dumpJson(const nlohmann::ordered_json& document);

/// The report of `run`, a line each, without the program's name.
std::vector<std::string> answerLines(const App& app, const Answer& answer, const SamplingOptions& sampling);

/// The app's warnings and what the disk said since.
std::vector<Warning> warningsOf(const App& app);

}  // namespace sluice
