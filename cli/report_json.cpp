#include "cli/report_json.h"

#include <algorithm>

#include <fmt/format.h>
#include <xxhash.h>

#include "cli/build_info.h"
#include "cli/process_memory.h"
#include "core/ports/drafter.h"

namespace sluice {

using Json = nlohmann::ordered_json;

namespace {

double seconds(std::chrono::nanoseconds t) { return std::chrono::duration<double>(t).count(); }

double hitRate(const StreamReport& r) { return r.hits + r.misses == 0 ? 0 : double(r.hits) / double(r.hits + r.misses); }

std::string samplingText(const SamplingOptions& s) {
  if (s.greedy()) return "greedy (temperature 0)";
  std::string text = fmt::format("temperature {}", s.temperature);
  if (s.top_k > 0) text += fmt::format(", top_k {}", s.top_k);
  if (s.top_p < 1) text += fmt::format(", top_p {}", s.top_p);
  if (s.min_p > 0) text += fmt::format(", min_p {}", s.min_p);
  return text + fmt::format(", seed {}", s.seed);
}

}  // namespace

std::string xxh3Text(std::string_view text) { return fmt::format("{:016x}", XXH3_64bits(text.data(), text.size())); }

std::vector<Warning> warningsOf(const App& app) {
  std::vector<Warning> all = app.warnings;
  for (Warning& late : app.model->lateWarnings()) {
    const bool known = std::any_of(all.begin(), all.end(), [&](const Warning& w) { return w.code == late.code; });
    if (!known) all.push_back(std::move(late));
  }
  return all;
}

std::string fingerprintOf(const App& app, const Options& options, const SamplingOptions& s, const TokenLimit& limit) {
  const LoadedFacts& facts = app.model->facts();
  std::string stops;
  for (const std::string& text : options.answer.stop) stops += fmt::format("{}:{} ", text.size(), text);
  // Threads, instruction set, cache, device and prefill are left out: they never change a text.
  const std::string named = fmt::format(
      "model {} {:016x}; build {} {} {}; exact {} activations {} kv {} context {}; temperature {} top_k {} top_p {} min_p {} seed {}; limit {} stop {}",
      facts.family, facts.model_hash, kBuildVersion, kBuildCommit, kBuildCompiler, options.model.exact, options.model.activationBits(),
      options.model.kvFormat() == RowFormat::F32 ? "f32" : "bf16", app.engine->facts().context, s.temperature, s.top_k, s.top_p, s.min_p,
      s.greedy() ? 0 : s.seed, limit.tokens, stops);
  return xxh3Text(named);
}

Json warningsJson(const std::vector<Warning>& warnings) {
  Json list = Json::array();
  for (const Warning& w : warnings) list.push_back({{"code", w.code}, {"text", w.text}});
  return list;
}

Json samplingJson(const SamplingOptions& s) {
  return {{"temperature", s.temperature}, {"top_k", s.top_k}, {"top_p", s.top_p}, {"min_p", s.min_p}, {"seed", s.seed}};
}

Json statsJson(const App& app, const Answer& answer) {
  const StreamReport& io = answer.stream;
  const LoadedFacts& facts = app.model->facts();
  Json items = Json::object();
  for (const MemoryItem& item : facts.memory) items[item.name] = item.bytes.count();
  const NoDrafter drafter;
  return {
      {"prefill", {{"tokens", answer.prefill.tokens}, {"seconds", answer.prefill.seconds}}},
      {"decode", {{"tokens", answer.decode.tokens}, {"seconds", answer.decode.seconds}}},
      {"cache", {{"hits", io.hits}, {"misses", io.misses}, {"slots", io.slots}}},
      {"io",
       {{"bytes_read", io.bytes_read.count()},
        {"bytes_written", 0},
        {"read_s", seconds(io.read_time)},
        {"wait_s", seconds(io.wait_time)},
        {"retried", io.reads_retried},
        {"device", facts.io},
        {"speculative", {{"used", io.speculative_used}, {"late", io.speculative_late}, {"vain", io.speculative_vain}}}}},
      {"memory", {{"budget", facts.budget.count()}, {"rss_peak", residentPeak().count()}, {"items", items}}},
      {"draft", {{"mode", drafter.mode()}, {"why", drafter.why()}, {"drafted", 0}, {"accepted", 0}}},
      {"isa", facts.isa},
  };
}

Json answerJson(const App& app, const Answer& answer, const Options& options, const SamplingOptions& sampling, const TokenLimit& limit) {
  Json ids = Json::array();
  for (const TokenId id : answer.ids) ids.push_back(id.value());
  Json usage = {{"prompt_tokens", answer.usage.prompt_tokens},
                {"completion_tokens", answer.usage.completion_tokens},
                {"total_tokens", answer.usage.prompt_tokens + answer.usage.completion_tokens},
                {"reasoning_tokens", answer.usage.reasoning_tokens},
                {"completion_tokens_details", {{"reasoning_tokens", answer.usage.reasoning_tokens}}}};
  Json stop_ids = Json::array();
  for (const TokenId id : app.engine->stopIds()) stop_ids.push_back(id.value());
  Json ignored = Json::array();
  for (const std::string& setting : app.generation.ignored) ignored.push_back(setting);
  return {
      {"ids", ids},
      {"text", answer.text},
      {"reasoning", answer.reasoning},
      {"tool_calls", Json::array()},
      {"end", {{"reason", nameOf(answer.end.reason)}, {"detail", answer.end.detail}}},
      {"usage", usage},
      {"sampling", samplingJson(sampling)},
      {"stop", {{"ids", stop_ids}, {"texts", options.answer.stop}}},
      {"ignored", ignored},
      {"warnings", warningsJson(warningsOf(app))},
      {"stats", statsJson(app, answer)},
      {"fingerprint", fingerprintOf(app, options, sampling, limit)},
      {"text_xxh3", xxh3Text(answer.text)},
  };
}

std::string dumpJson(const Json& document) { return document.dump(-1, ' ', false, Json::error_handler_t::replace); }

std::vector<std::string> answerLines(const App& app, const Answer& answer, const SamplingOptions& sampling) {
  const StreamReport& io = answer.stream;
  const LoadedFacts& facts = app.model->facts();
  std::vector<std::string> lines;
  lines.push_back(fmt::format("ended: {} ({})", nameOf(answer.end.reason), answer.end.detail));
  std::string tokens = fmt::format("tokens: {} of prompt, {} of answer", answer.usage.prompt_tokens, answer.usage.completion_tokens);
  if (answer.usage.reasoning_tokens > 0) tokens += fmt::format(", of which {} are reasoning", answer.usage.reasoning_tokens);
  lines.push_back(tokens);
  lines.push_back(fmt::format("speed: prefill {:.1f} tokens/s ({:.2f} s), decode {:.1f} tokens/s ({:.2f} s), {}", answer.prefill.rate(), answer.prefill.seconds,
                              answer.decode.rate(), answer.decode.seconds, facts.isa));
  if (facts.experts_total > 0) {
    lines.push_back(fmt::format("experts: hit rate {:.3f} ({} of {}) in {} slots for {} experts; read {} by {} in {:.2f} s, waited {:.2f} s", hitRate(io), io.hits,
                                io.hits + io.misses, io.slots, facts.experts_total, sizeText(io.bytes_read), facts.io, seconds(io.read_time), seconds(io.wait_time)));
  }
  lines.push_back(fmt::format("memory: {} at most, of a budget of {}", sizeText(residentPeak()), sizeText(facts.budget)));
  lines.push_back(fmt::format("sampling: {}", samplingText(sampling)));
  std::string stops;
  for (const TokenId id : app.engine->stopIds()) stops += fmt::format("{}{}", stops.empty() ? "" : ", ", id.value());
  lines.push_back(fmt::format("stop ids: {}", stops.empty() ? "none" : stops));
  for (const std::string& setting : app.generation.ignored) lines.push_back(fmt::format("ignored: {}", setting));
  for (const Warning& w : warningsOf(app)) lines.push_back(fmt::format("warning: {}: {}", w.code, w.text));
  return lines;
}

}  // namespace sluice
