#include "cli/flags.h"

#include <charconv>
#include <map>

#include <fmt/format.h>

namespace sluice {
namespace {

const std::map<std::string, Isa> kIsaNames{
    {"scalar", Isa::Scalar}, {"avx2", Isa::Avx2}, {"avxvnni", Isa::AvxVnni}, {"avx512vnni", Isa::Avx512Vnni}, {"amx", Isa::Amx}};
const std::map<std::string, IoKind> kIoNames{{"uring", IoKind::Uring}, {"pread", IoKind::Pread}};
const std::map<std::string, RowFormat> kKvNames{{"f32", RowFormat::F32}, {"bf16", RowFormat::Bf16}};

template <class T>
std::string namesOf(const std::map<std::string, T>& names) {
  std::string all;
  for (const auto& [name, value] : names) all += (all.empty() ? "" : ", ") + name;
  return all;
}

// A flag that takes one of several names.
template <class T>
CLI::Option* addChoice(CLI::App& command, const std::string& flag, std::optional<T>& target, const std::map<std::string, T>& names, const std::string& help) {
  return command
      .add_option_function<std::string>(
          flag,
          [&target, &names, flag](const std::string& text) {
            const auto found = names.find(text);
            if (found == names.end()) throw CLI::ValidationError(flag, fmt::format("'{}' is none of: {}", text, namesOf(names)));
            target = found->second;
          },
          help)
      ->type_name("NAME");
}

template <class T>
CLI::Option* addNumber(CLI::App& command, const std::string& flag, std::optional<T>& target, const std::string& help) {
  return command
      .add_option_function<std::string>(
          flag,
          [&target, flag](const std::string& text) {
            T value{};
            const auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), value);
            if (fault != std::errc() || end != text.data() + text.size() || text.empty())
              throw CLI::ValidationError(flag, fmt::format("'{}' is not a number that it can take", text));
            target = value;
          },
          help)
      ->type_name("N");
}

}  // namespace

void bindModel(CLI::App& command, ModelOptions& o, bool model_required) {
  CLI::Option* model = command.add_option("MODEL", o.model, "the model's directory");
  if (model_required) model->required();
  command.add_option("--threads", o.threads, "compute threads (default: every CPU that this process may use)")->check(CLI::Range(1, 1024))->type_name("N")->group("Machine");
  addChoice(command, "--isa", o.isa, kIsaNames, "force one instruction set: scalar, avx2, avxvnni, avx512vnni, amx")->group("Machine");
  addChoice(command, "--io", o.io, kIoNames, "how experts are read: uring or pread")->group("Disk");
  command.add_option("--read-depth", o.read_depth, "expert reads in flight")->check(CLI::Range(1, 128))->type_name("N")->capture_default_str()->group("Disk");
  command.add_flag("--direct,!--no-direct", o.direct, "read past the page cache (default), or through it")->group("Disk");
  command
      .add_option_function<std::string>(
          "--ram",
          [&o](const std::string& text) {
            const Result<Bytes> size = parseSize(text);
            if (!size.ok()) throw CLI::ValidationError("--ram", size.error().what);
            if (size.value() == Bytes(0)) throw CLI::ValidationError("--ram", "0 bytes hold no model");
            o.ram = size.value();
          },
          "most memory for weights, cache, KV and activations together, e.g. 96GiB (default: what the machine leaves)")
      ->type_name("BYTES")
      ->group("Memory");
  command.add_option("--cache-experts", o.cache_experts, "most experts in memory (default: as many as the budget holds)")->check(CLI::Range(1, 1 << 24))->type_name("N")->group("Memory");
  command.add_option("--prefill-rows", o.prefill_rows, "most prompt tokens in one pass over the layers (default: as many as the budget holds)")->check(CLI::Range(1, 1 << 20))->type_name("N")->group("Memory");
  addChoice(command, "--kv", o.kv, kKvNames, "how the cache of past tokens is stored: f32 (default) or bf16, half the bytes, rounded")->group("Memory");
  command.add_option("--context", o.context, "most tokens of prompt and answer together (default: 8192, or what model and budget allow)")->check(CLI::Range(2, 1 << 27))->type_name("N")->group("Memory");
  command.add_flag("--exact", o.exact, "f32 activations, weights dequantised, f32 KV: the path that golden tests compare")->group("Numbers");
  addNumber(command, "--activations", o.activations, "bits of activations in integer products: 16 (default) or 8")->group("Numbers");
  command.add_option("--state-dir", o.state_dir, "where sums, usage and saved conversations are kept (default: the XDG state directory)")->type_name("DIR")->group("Files");
  addNumber(command, "--seed", o.seed, "seed of the draws (default: random, and printed)")->group("Sampling");
}

void bindAnswer(CLI::App& command, AnswerOptions& o) {
  addNumber(command, "-n", o.tokens, "most tokens of an answer; -1: to the end of the context (default 512)")->group("Answer");
  command.add_option("--stop", o.stop, "end the answer before this text; may be given several times")->type_name("TEXT")->expected(1)->take_all()->allow_extra_args(false)->group("Answer");
  const std::string file_default = " (default: the model's generation_config.json)";
  addNumber(command, "--temperature", o.sampling.temperature, "0 takes the likeliest token" + file_default)->group("Sampling");
  addNumber(command, "--top-k", o.sampling.top_k, "only the K likeliest; 0 or -1: off" + file_default)->group("Sampling");
  addNumber(command, "--top-p", o.sampling.top_p, "only the likeliest that make up this share" + file_default)->group("Sampling");
  addNumber(command, "--min-p", o.sampling.min_p, "only those at least this likely, relative to the likeliest" + file_default)->group("Sampling");
}

void bindTemplate(CLI::App& command, PromptOptions& o) {
  command.add_option("--template-kwargs", o.template_arguments, "further arguments of the chat template, a JSON object")->type_name("JSON")->group("Prompt");
  command.add_flag("--no-think", o.no_think, "ask the chat template for an answer without reasoning (enable_thinking false)")->group("Prompt");
}

void bindPrompt(CLI::App& command, PromptOptions& o) {
  CLI::Option_group* one = command.add_option_group("Prompt", "what to answer: one of these");
  one->add_option("-p", o.text, "a user's message, through the model's chat template")->type_name("TEXT");
  one->add_option("--messages", o.messages, "a JSON array of messages, or {messages, tools}, through the chat template; -: standard input")->type_name("FILE");
  one->add_option("--prompt", o.prompt, "raw text, without a template; -: standard input")->type_name("FILE");
  one->add_option("--ids-file", o.ids, "a JSON array of token ids; -: standard input")->type_name("FILE");
  one->require_option(1);
  bindTemplate(command, o);
}

void bindJson(CLI::App& command, Options& o) { command.add_flag("--json", o.json, "one JSON document on stdout, everything else on stderr"); }

}  // namespace sluice
