// sluice-scripted: the program's own command line over a model that follows a script (tests/support/scripted_model.h).

#include <CLI/CLI.hpp>

#include "cli/program.h"
#include "tests/support/scripted_model.h"

int main(int argc, char** argv) {
  std::filesystem::path script;
  sluice::RealFileSteps files;
  sluice::Program program;
  program.name = "sluice-scripted";
  program.files = &files;
  program.load = sluice::scriptedModels(script);
  program.bind = [&script](CLI::App& command) {
    command.add_option("--script", script, "a JSON array of what the model says to which prompt")->type_name("FILE")->required()->configurable(false);
  };
  return sluice::runProgram(argc, argv, program);
}
