#pragma once
// What a person wants answered, from flags and files, as ids.

#include <filesystem>
#include <string>
#include <vector>

#include "cli/app.h"

namespace sluice {

/// The whole of `path`, or of standard input for "-".
/// errors  BadRequest: names `flag` and why it cannot be read
Result<std::string> readInput(const std::filesystem::path& path, const char* flag);

/// A JSON array of ids. errors: BadRequest, naming the entry
Result<std::vector<TokenId>> parseIds(const std::string& json, const std::string& name);

/// --ids-file.
Result<std::vector<TokenId>> readIds(const std::filesystem::path& path);

/// The request that flags describe: -p or --messages, --template-kwargs, --no-think.
Result<ChatRequest> chatRequestOf(const PromptOptions& options);
/// --template-kwargs and --no-think alone.
Result<nlohmann::ordered_json> templateArguments(const PromptOptions& options);

/// Renders `request` by the model's template and makes ids of it.
Result<std::vector<TokenId>> chatPrompt(const App& app, ChatRequest request);

/// What `options` needs of the directory.
TextNeed textNeedOf(const PromptOptions& options);

/// The ids to go on from, whichever flag gave them.
Result<std::vector<TokenId>> promptIds(const App& app, const PromptOptions& options);

}  // namespace sluice
