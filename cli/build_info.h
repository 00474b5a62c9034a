#pragma once
// What was built. The values come from CMake (build_info.cpp.in).

namespace sluice {

extern const char* const kBuildVersion;
extern const char* const kBuildCommit;    // a git commit, or "unknown" outside a clone
extern const char* const kBuildCompiler;
extern const char* const kBundledModel;   // the directory of the model that `demo` runs, in this clone

}  // namespace sluice
