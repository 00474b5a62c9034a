#include "cli/program.h"
#include "cli/wire.h"

int main(int argc, char** argv) {
  sluice::RealFileSteps files;
  sluice::Program program;
  program.name = "sluice";
  program.load = sluice::streamedModels();
  program.files = &files;
  return sluice::runProgram(argc, argv, program);
}
