#include "core/model/moe.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "core/model/dense_ffn.h"
#include "core/model/norm.h"
#include "core/model/product.h"
#include "core/model/router.h"

namespace sluice {

namespace {

constexpr int kColumnBlock = 512;

/// A demand that is given up unless it was emptied.
class Demand {
 public:
  Demand() = default;
  Demand(const Demand&) = delete;
  Demand& operator=(const Demand&) = delete;
  ~Demand() {
    if (ticket_.remaining > 0) source_->cancel(ticket_);
  }
  void ask(ExpertSource& source, LayerId layer, std::span<const ExpertId> ids) {
    DCHECK(ticket_.remaining == 0);
    source_ = &source;
    ticket_ = source.request(layer, ids, Urgency::Demand);
  }
  bool empty() const { return ticket_.remaining == 0; }
  Result<ExpertPin> next() {
    Result<ExpertPin> pin = source_->next(ticket_);
    if (!pin.ok()) ticket_.remaining = 0;  // an error has ended the ticket
    return pin;
  }

 private:
  ExpertSource* source_ = nullptr;
  Ticket ticket_;
};

/// Experts [begin, end) of experts_used, whose pairs are [first_pair, last_pair) of pair_rows.
struct Wave {
  int begin = 0, end = 0;
  int first_pair = 0, last_pair = 0;
};

struct MoeRun {
  const LayerContext& ctx;
  const LayerWeights& w;
  LayerId layer;
  int rows;
  Activations& s;
  const Numerics& n;
  int hidden, top_k;
  int used = 0;  // experts some row wants

  void routeAll() {
    const bool codes = !n.exact && (w.experts_integer || (w.shared && (n.usesCodes(w.shared->gate) || n.usesCodes(w.shared->up))));
    ctx.team->run([&](const Member& member) {
      const Slice part = member.slice(rows);
      for (int r = part.begin; r < part.end; ++r) {
        rmsNorm(n, s.hidden[r], w.post_norm, ctx.config->rms_eps, s.ffn_in.values[r]);
        if (codes) quantise(n, s.ffn_in.values[r], s.ffn_in.codes[r], hidden);
      }
      member.barrier();
      routeRows(ctx, member, w, rows);
    });
    if (ctx.tap == nullptr) return;
    for (int r = 0; r < rows; ++r) {
      const std::size_t at = std::size_t(r) * std::size_t(top_k), k = std::size_t(top_k);
      ctx.tap->router(layer, r, {s.routed_ids + at, k}, {s.routed_weights + at, k}, s.routed_margins[r]);
    }
  }

  // Pairs (row, expert) sorted by expert, then row: a counting sort.
  void groupByExpert() {
    const int experts = ctx.config->router.experts;
    std::fill_n(s.expert_begins, experts + 1, 0);
    const int pairs = rows * top_k;
    for (int pair = 0; pair < pairs; ++pair) ++s.expert_begins[s.routed_ids[pair].value() + 1];
    used = 0;
    for (int e = 0; e < experts; ++e) {
      if (s.expert_begins[e + 1] > 0) s.experts_used[used++] = ExpertId(std::uint32_t(e));
      s.expert_begins[e + 1] += s.expert_begins[e];
    }
    for (int pair = 0; pair < pairs; ++pair) {
      const int place = s.expert_begins[s.routed_ids[pair].value()]++;
      s.pair_rows[place] = pair / top_k;
      s.routed_places[pair] = place;
    }
    for (int e = experts; e > 0; --e) s.expert_begins[e] = s.expert_begins[e - 1];
    s.expert_begins[0] = 0;
  }

  int firstPair(int used_idx) const { return s.expert_begins[s.experts_used[used_idx].value()]; }
  int endPair(int used_idx) const { return s.expert_begins[s.experts_used[used_idx].value() + 1]; }

  /// The wave that begins at experts_used[begin].
  Wave waveAt(int begin) const {
    const int pins = ctx.experts->pins_max();
    Wave wave{begin, begin, begin < used ? firstPair(begin) : 0, 0};
    while (wave.end < used && wave.end - begin < pins && endPair(wave.end) - wave.first_pair <= s.pairs_max) wave.last_pair = endPair(wave.end++);
    CHECK(begin >= used || wave.end > begin);
    return wave;
  }

  void ask(Demand& demand, const Wave& wave) const {
    if (wave.begin < wave.end) demand.ask(*ctx.experts, layer, {s.experts_used + wave.begin, std::size_t(wave.end - wave.begin)});
  }

  // While the first wave's experts are on their way.
  void runShared() const {
    for (int begin = 0; begin < rows; begin += s.tile_rows) {
      const int count = std::min(s.tile_rows, rows - begin);
      ctx.team->run([&](const Member& member) {
        if (w.shared) {
          swiGlu(ctx, member, *w.shared, s.ffn_in.input(begin, count), s.moe_sum.rows + begin);
        } else {
          const Slice part = member.slice(count);
          for (int r = part.begin; r < part.end; ++r) std::fill_n(s.moe_sum[begin + r], hidden, 0.0f);
        }
      });
    }
  }

  void runExpert(const ExpertPin& pin, const Wave& wave) const {
    const ExpertWeights& e = pin.weights();
    const FfnWeights ffn{e.gate, e.up, e.down};
    const std::uint32_t id = pin.expert().value();
    const MemberScratch& lists = s.members[0];  // filled here, read by all
    for (int begin = s.expert_begins[id]; begin < s.expert_begins[id + 1]; begin += s.tile_rows) {
      const int count = std::min(s.tile_rows, s.expert_begins[id + 1] - begin);
      for (int i = 0; i < count; ++i) {
        lists.inputs[i] = s.ffn_in.values[s.pair_rows[begin + i]];
        lists.codes[i] = s.ffn_in.codes[s.pair_rows[begin + i]];
      }
      const ProductInput x{lists.inputs, lists.codes, count};
      ctx.team->run([&](const Member& member) { swiGlu(ctx, member, ffn, x, s.expert_out.rows + (begin - wave.first_pair)); });
    }
  }

  // Adds a wave's outputs to the rows' sums in ascending id; after the last wave, the sums to the stream.
  void combine(const Wave& wave) const {
    const bool last = wave.end == used;
    ctx.team->run([&](const Member& member) {
      eachPiece(member, rows, hidden, kColumnBlock, [&](int r, int begin, int end) {
        float* const sum = s.moe_sum[r] + begin;
        for (int j = 0; j < top_k; ++j) {
          const int place = s.routed_places[r * top_k + j];
          if (place < wave.first_pair || place >= wave.last_pair) continue;
          n.kernels->add_scaled({sum, s.expert_out[place - wave.first_pair] + begin, s.routed_weights[r * top_k + j], end - begin});
        }
        if (!last) return;
        float* const to = s.hidden[r] + begin;
        addTo(n, to, sum, end - begin);
        if (!allFinite(to, end - begin)) s.members[member.index()].finite = false;
      });
    });
  }

  Result<Done> stopped() const { return Error{Errc::Cancelled, fmt::format("cancelled in layer {}", layer.value())}; }

  Result<Done> run() {
    routeAll();
    groupByExpert();
    Demand demands[2];  // the wave being computed, and the one after it, whose reads are under way meanwhile
    Wave wave = waveAt(0);
    ask(demands[0], wave);
    runShared();
    for (int turn = 0; wave.begin < used; turn ^= 1) {
      const Wave after = waveAt(wave.end);
      ask(demands[turn ^ 1], after);
      while (!demands[turn].empty()) {
        const ExpertPin pin = TRY(demands[turn].next());
        runExpert(pin, wave);
        if (cancelled(ctx)) return stopped();
      }
      combine(wave);
      wave = after;
    }
    return Done{};
  }
};

}  // namespace

Result<Done> runMoe(const LayerContext& ctx, const LayerWeights& w, LayerId layer, std::span<const ForwardRow> rows) {
  MoeRun run{ctx, w, layer, int(rows.size()), *ctx.scratch, ctx.numerics, ctx.config->hidden, ctx.config->router.top_k};
  return run.run();
}

}  // namespace sluice
