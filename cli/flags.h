#pragma once
// Binds flags to the members of Options: the one definition behind help, parsing, the config file and `config print`.

#include <CLI/CLI.hpp>

#include "cli/options.h"

namespace sluice {

void bindModel(CLI::App& command, ModelOptions& options, bool model_required = true);
void bindAnswer(CLI::App& command, AnswerOptions& options);
void bindPrompt(CLI::App& command, PromptOptions& options);
void bindTemplate(CLI::App& command, PromptOptions& options);
void bindJson(CLI::App& command, Options& options);

}  // namespace sluice
