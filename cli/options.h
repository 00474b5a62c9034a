#pragma once
// Every flag of the program, bound once: help, the config file, parsing and `config print` read the same definition.

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "core/base/bytes.h"
#include "core/ports/kernels.h"
#include "core/run/generation.h"
#include "core/run/sampling_options.h"
#include "stream/open_device.h"

namespace sluice {

/// Flags of every command that loads a model.
struct ModelOptions {
  std::filesystem::path model;
  int threads = 0;            // 0: every CPU that this process may use
  std::optional<Isa> isa;     // absent: the best that this CPU has
  std::optional<IoKind> io;   // absent: io_uring, or pread where that is refused
  Bytes ram{0};               // 0: what the machine and its cgroup leave, less a margin
  int cache_experts = 0;      // 0: as many as the budget holds
  int prefill_rows = 0;       // 0: as many as the budget holds
  std::optional<RowFormat> kv;  // absent: f32; bf16 halves the cache and rounds its rows: a choice, never a default
  int context = 0;            // 0: 8,192 or what the model and the budget allow, the smaller
  bool exact = false;
  std::optional<int> activations;  // bits; absent: 16
  std::filesystem::path state_dir;
  std::optional<std::uint64_t> seed;
  int read_depth = 16;
  bool direct = true;

  RowFormat kvFormat() const { return kv.value_or(RowFormat::F32); }
  int activationBits() const { return activations.value_or(16); }
};

/// Flags of a generation.
struct AnswerOptions {
  std::optional<int> tokens;  // -n
  SamplingRequest sampling;
  std::vector<std::string> stop;
};

/// What is said to the model, and how it is told.
struct PromptOptions {
  std::optional<std::string> text;  // -p
  std::filesystem::path messages, prompt, ids;
  std::string template_arguments;  // JSON object
  bool no_think = false;
};

struct Options {
  ModelOptions model;
  AnswerOptions answer;
  PromptOptions prompt;
  bool json = false;
  std::filesystem::path trace_routes;               // run
  std::filesystem::path trace_out;                  // trace
  int trace_greedy = 0;                             // trace
  std::filesystem::path score_text, score_choices;  // score
  bool verify_write = false;                        // verify
};

/// "96GiB", "512MiB", "4KiB" or a bare number of bytes.
/// errors  BadRequest, with the text
Result<Bytes> parseSize(const std::string& text);
/// The largest unit that says it exactly, or with one decimal: "6.4 MiB".
std::string sizeText(Bytes bytes);

/// Combinations that no single flag can refuse.
/// errors  BadRequest: --exact beside --kv bf16 or --activations
Result<Done> checkOptions(const ModelOptions& options);

}  // namespace sluice
