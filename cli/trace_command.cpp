#include <map>

#include <fmt/format.h>

#include "cli/commands.h"
#include "cli/prompt_input.h"
#include "cli/tensor_file.h"
#include "core/run/scoring.h"

namespace sluice {
namespace {

/// Gathers what the layers compute for the given ids; the greedy rows behind them are let pass.
class Gatherer final : public LayerTap {
 public:
  Gatherer(int rows, const LoadedFacts& facts) : rows_(rows), facts_(facts) {}
  void follow(const Scoring& scoring) { scoring_ = &scoring; }

  void hidden(LayerId layer, int row, std::span<const float> values) override {
    put(hidden_[layer.value()], row, std::span(values), values.size(), 0.0f);
  }
  void router(LayerId layer, int row, std::span<const ExpertId> ids, std::span<const float> weights, float) override {
    std::vector<std::int64_t> plain;
    for (const ExpertId id : ids) plain.push_back(id.value());
    put(router_ids_[layer.value()], row, std::span<const std::int64_t>(plain), plain.size(), std::int64_t(0));
    put(router_weights_[layer.value()], row, weights, weights.size(), 0.0f);
  }
  void index(LayerId layer, int row, std::span<const std::int32_t> positions) override {
    const std::vector<std::int64_t> plain(positions.begin(), positions.end());
    put(index_[layer.value()], row, std::span<const std::int64_t>(plain), std::size_t(facts_.index_top_k), std::int64_t(-1));
  }

  void addTo(TensorFile& file) {
    for (auto& [layer, values] : hidden_) addTo(file, fmt::format("hidden.{}", layer), values);
    for (auto& [layer, values] : router_ids_) {
      addTo(file, fmt::format("router.{}.ids", layer), values);
      addTo(file, fmt::format("router.{}.weights", layer), router_weights_[layer]);
    }
    for (auto& [layer, values] : index_) addTo(file, fmt::format("index.{}.ids", layer), values);
  }
  /// The last layer's hidden is wanted after the final norm.
  void normed(int position, std::span<const float> values) {
    std::vector<float>& table = hidden_[std::uint32_t(facts_.layers - 1)];
    if (position < rows_) std::copy(values.begin(), values.end(), table.begin() + std::ptrdiff_t(std::size_t(position) * values.size()));
  }

 private:
  template <class T>
  void put(std::vector<T>& table, int row, std::span<const T> values, std::size_t cols, T padding) {
    const int position = scoring_->plan().position + row;
    if (position >= rows_) return;
    if (table.empty()) table.assign(std::size_t(rows_) * cols, padding);
    std::copy(values.begin(), values.end(), table.begin() + std::ptrdiff_t(std::size_t(position) * cols));
  }
  template <class T>
  void addTo(TensorFile& file, const std::string& name, std::vector<T>& table) {
    const std::int64_t cols = std::int64_t(table.size()) / rows_;  // before the table is moved from
    file.add(name, {rows_, cols}, std::move(table));
  }

  int rows_;
  const LoadedFacts& facts_;
  const Scoring* scoring_ = nullptr;
  std::map<std::uint32_t, std::vector<float>> hidden_, router_weights_;
  std::map<std::uint32_t, std::vector<std::int64_t>> router_ids_, index_;
};

}  // namespace

CommandResult traceCommand(const Invocation& call) {
  const Options& options = call.options;
  const std::vector<TokenId> ids = TRY(readIds(options.prompt.ids));
  App app = TRY(openApp(call.program, options.model, TextNeed::None, call.progress, call.interrupts));
  const ForwardFacts& facts = app.engine->facts();
  TRY(Scoring::check(ids, options.trace_greedy, facts.vocabulary, facts.context));

  const int rows = int(ids.size());
  const std::size_t vocabulary = std::size_t(facts.vocabulary);
  std::vector<float> logits(std::size_t(rows) * vocabulary), greedy_logits;
  Gatherer gatherer(rows, app.model->facts());
  Scoring scoring(
      ids, options.trace_greedy,
      [&](int position, std::span<const float> row, std::span<const float> hidden) {
        gatherer.normed(position, hidden);
        if (position < rows) std::copy(row.begin(), row.end(), logits.begin() + std::ptrdiff_t(std::size_t(position) * vocabulary));
        // A greedy id is chosen by the logits of the row before it.
        if (position + 1 >= rows && position + 1 < rows + options.trace_greedy) greedy_logits.insert(greedy_logits.end(), row.begin(), row.end());
      },
      &call.interrupts.flag());
  scoring.wantHidden();
  gatherer.follow(scoring);
  app.model->watch(&gatherer);
  TRY(app.engine->add(scoring));
  while (app.engine->step()) call.progress.show("tracing", scoring.rowsDone(), double(rows + options.trace_greedy), "tokens");
  call.progress.clear();
  app.model->watch(nullptr);
  if (scoring.error()) return *scoring.error();

  TensorFile file;
  std::vector<std::int64_t> id_values, greedy;
  for (const TokenId id : scoring.ids()) (id_values.size() < ids.size() ? id_values : greedy).push_back(id.value());
  file.add("ids", {rows}, std::move(id_values));
  file.add("logits", {rows, facts.vocabulary}, std::move(logits));
  gatherer.addTo(file);
  if (options.trace_greedy > 0) {
    file.add("greedy", {options.trace_greedy}, std::move(greedy));
    file.add("greedy_logits", {options.trace_greedy, facts.vocabulary}, std::move(greedy_logits));
  }
  TRY(file.write(*call.program.files, options.trace_out));
  for (const Warning& warning : app.warnings) note(call.program, fmt::format("warning: {}: {}", warning.code, warning.text));
  if (options.json) TRY(printJson({{"out", options.trace_out.string()}, {"ids", rows}, {"greedy", options.trace_greedy}}));
  return ExitCode::Ok;
}

}  // namespace sluice
