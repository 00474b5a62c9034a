#pragma once
// The whole program behind main(): parse, run one command, say what went wrong, leave the right exit code.

#include "cli/app.h"

namespace sluice {

int runProgram(int argc, char** argv, const Program& program);

}  // namespace sluice
