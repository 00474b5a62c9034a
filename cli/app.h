#pragma once
// What a command works with: the model, its texts, and the engine over them.

#include <memory>
#include <string>
#include <vector>

#include "cli/loaded_model.h"
#include "cli/progress.h"
#include "cli/signals.h"
#include "core/base/file.h"
#include "core/run/engine.h"
#include "core/run/generation_config.h"
#include "core/text/chat_template.h"
#include "core/text/tokenizer.h"

namespace CLI {
class App;
}

namespace sluice {

/// What differs between the product and the test programs that share its command line.
struct Program {
  std::string name = "sluice";
  ModelLoader load;
  FileSteps* files = nullptr;  // how files are written; outlives the program
  std::function<void(CLI::App& command)> bind;  // further flags of every model command; may be empty
};

/// What a command needs of the directory's texts.
enum class TextNeed {
  None,
  Optional,  // a tokenizer, if there is one
  Required,  // a tokenizer
  Chat,      // and a chat template
};

struct App {
  std::unique_ptr<LoadedModel> model;
  std::unique_ptr<Tokenizer> tokenizer;  // null: the directory has none, and the command can do without
  std::unique_ptr<ChatTemplate> chat;     // TextNeed::Chat
  GenerationConfig generation;
  std::vector<Warning> warnings;
  std::unique_ptr<Engine> engine;

  /// True when attention reads every position because the indexer's weights are missing.
  bool denseAttention() const;
};

/// Reads the texts, loads the model, makes the engine.
/// errors  those of the loader, of the tokenizer and of generation_config.json; Cancelled
Result<App> openApp(const Program& program, const ModelOptions& options, TextNeed need, Progress& progress, const InterruptGuard& interrupts);

}  // namespace sluice
