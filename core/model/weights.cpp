#include "core/model/weights.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <functional>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>

#include "core/base/check.h"
#include "core/format/tensor_bytes.h"
#include "core/model/carver.h"

namespace sluice {

namespace {

// Large enough to keep a disk busy, small enough that threads share one large matrix.
constexpr std::uint64_t kPieceBytes = std::uint64_t(8) << 20;
// Reads in flight: four threads saturate what buffered reads give (copying out of the page cache is the limit, not the disk).
constexpr int kReadThreads = 4;

struct ReadJob {
  std::uint32_t file = 0;
  std::uint64_t offset = 0;
  std::uint64_t bytes = 0;
  std::function<Result<Done>(const TensorReader&)> run;
};

int divideUp(int a, int b) { return (a + b - 1) / b; }

/// Walks a layout, cuts memory for each tensor and notes what must be read into it.
class Builder {
 public:
  explicit Builder(Carver& memory) : memory_(memory) {}

  VectorView vector(const VectorLayout& v) {
    float* const out = memory_.take<float>(std::uint64_t(v.length));
    const std::span<float> values(out, memory_.counting() ? 0 : std::size_t(v.length));
    add(v.data, [v, values](const TensorReader& reader) { return reader.readVector(v, values); });
    return values;
  }

  WeightMatrix matrix(const MatrixLayout& m) {
    std::byte* const data = memory_.take<std::byte>(m.data.bytes);
    raw(m.data, data);
    const std::uint64_t count = scaleCount(m);
    float* const scales = count == 0 ? nullptr : memory_.take<float>(count);
    if (count != 0 && !memory_.counting())
      add(m.scales, [m, scales, count](const TensorReader& reader) { return reader.readScales(m, {scales, std::size_t(count)}); });
    return {data, scales, m.rows, m.cols, m.group, m.block_rows, m.block_cols, m.format};
  }

  FfnWeights ffn(const FfnLayout& f) { return {matrix(f.gate), matrix(f.up), matrix(f.down)}; }

  /// Cuts kv_b, whose rows are heads of [nope keys, v values], into all keys and all values.
  void splitKvB(const MatrixLayout& m, const MlaConfig& c, MlaWeights& out) {
    const std::uint64_t row_bytes = rowBytes(m.format, std::uint64_t(m.cols));
    CHECK(m.rows == c.heads * (c.nope + c.v) && m.data.bytes == row_bytes * std::uint64_t(m.rows));
    // An FP8 block may straddle the cut; a scale row for every weight row says the same without blocks of rows.
    const bool scaled = scaleCount(m) != 0;
    const int scale_cols = !scaled ? 0 : divideUp(m.cols, m.format == WeightFormat::Fp8 ? m.block_cols : m.group);
    const auto part = [&](int rows_a_head, int first, WeightMatrix& w) {
      std::byte* const data = memory_.take<std::byte>(row_bytes * std::uint64_t(c.heads * rows_a_head));
      const std::uint64_t head_bytes = row_bytes * std::uint64_t(rows_a_head);
      for (int head = 0; head < c.heads; ++head) {
        const std::uint64_t at = row_bytes * std::uint64_t(head * (c.nope + c.v) + first);
        raw({m.data.file, m.data.offset + at, head_bytes}, memory_.counting() ? nullptr : data + head_bytes * std::uint64_t(head));
      }
      float* const scales = scaled ? memory_.take<float>(std::uint64_t(scale_cols) * std::uint64_t(c.heads * rows_a_head)) : nullptr;
      w = {data, scales, c.heads * rows_a_head, m.cols, m.group, m.format == WeightFormat::Fp8 ? 1 : 0, m.block_cols, m.format};
      return scales;
    };
    float* const key_scales = part(c.nope, 0, out.w_k);
    float* const value_scales = part(c.v, c.nope, out.w_v);
    if (!scaled || memory_.counting()) return;
    add(m.scales, [m, c, scale_cols, key_scales, value_scales](const TensorReader& reader) -> Result<Done> {
      std::vector<float> all(scaleCount(m));
      TRY(reader.readScales(m, all));
      const int rows_a_scale = m.format == WeightFormat::Fp8 ? m.block_rows : 1;
      float* key = key_scales;
      float* value = value_scales;
      for (int row = 0; row < m.rows; ++row) {
        float*& to = row % (c.nope + c.v) < c.nope ? key : value;
        to = std::copy_n(all.data() + std::size_t(row / rows_a_scale) * std::size_t(scale_cols), scale_cols, to);
      }
      return Done{};
    });
  }

  LayerWeights layer(const LayerLayout& l, const MlaConfig& mla) {
    LayerWeights out;
    out.input_norm = vector(l.input_norm);
    out.post_norm = vector(l.post_norm);
    const MlaLayout& a = l.attention;
    MlaWeights& w = out.attention;
    w.q_a = matrix(a.q_a);
    w.q_a_norm = vector(a.q_a_norm);
    w.q_b = matrix(a.q_b);
    w.kv_a = matrix(a.kv_a);
    w.kv_a_norm = vector(a.kv_a_norm);
    splitKvB(a.kv_b, mla, w);
    w.o = matrix(a.o);
    if (a.indexer) {
      const IndexerLayout& i = *a.indexer;
      w.indexer = IndexerWeights{matrix(i.wq_b), matrix(i.wk), matrix(i.weights_proj), vector(i.k_norm_weight), vector(i.k_norm_bias)};
    }
    if (l.dense) {
      out.dense = ffn(*l.dense);
      return out;
    }
    out.router = matrix(l.router);
    out.router_bias = vector(l.router_bias);
    if (l.shared) out.shared = ffn(*l.shared);
    out.experts_integer = std::any_of(l.experts.begin(), l.experts.end(), [](const ExpertLayout& e) {
      return isInteger(e.gate.format) || isInteger(e.up.format) || isInteger(e.down.format);
    });
    return out;
  }

  ResidentWeights model(const ModelLayout& l) {
    ResidentWeights out;
    out.embedding = matrix(l.embedding);
    for (const LayerLayout& one : l.layers) out.layers.push_back(layer(one, l.config.mla));
    out.final_norm = vector(l.final_norm);
    const bool tied = l.head.data.file == l.embedding.data.file && l.head.data.offset == l.embedding.data.offset;
    out.head = tied ? out.embedding : matrix(l.head);
    if (l.mtp) {
      out.mtp = MtpWeights{vector(l.mtp->enorm), vector(l.mtp->hnorm), vector(l.mtp->head_norm), matrix(l.mtp->eh_proj),
                           layer(l.mtp->layer, l.config.mla)};
    }
    return out;
  }

  std::vector<ReadJob> takeJobs() { return std::move(jobs_); }

 private:
  template <class Run>
  void add(const Extent& extent, Run&& run) {
    if (!memory_.counting()) jobs_.push_back({extent.file, extent.offset, extent.bytes, std::forward<Run>(run)});
  }

  void raw(const Extent& extent, std::byte* out) {
    if (memory_.counting()) return;
    for (std::uint64_t at = 0; at < extent.bytes; at += kPieceBytes) {
      const Extent piece{extent.file, extent.offset + at, std::min(kPieceBytes, extent.bytes - at)};
      const std::span<std::byte> to(out + at, std::size_t(piece.bytes));
      add(piece, [piece, to](const TensorReader& reader) { return reader.read(piece, to); });
    }
  }

  Carver& memory_;
  std::vector<ReadJob> jobs_;
};

/// Runs jobs in file order on a few threads; the caller's is one of them, and the one that reports.
Result<Done> runJobs(std::vector<ReadJob> jobs, const TensorReader& reader, ForwardWatch* watch) {
  std::sort(jobs.begin(), jobs.end(),
            [](const ReadJob& a, const ReadJob& b) { return std::pair(a.file, a.offset) < std::pair(b.file, b.offset); });
  std::uint64_t total = 0;
  for (const ReadJob& job : jobs) total += job.bytes;
  std::atomic<std::size_t> next{0};
  std::atomic<std::uint64_t> done{0};
  std::atomic<bool> stop{false};
  std::mutex mutex;
  std::optional<Error> failure;
  const auto fail = [&](Error error) {
    const std::lock_guard lock(mutex);
    if (!failure) failure = std::move(error);
    stop = true;
  };
  const auto work = [&](ForwardWatch* reporter) {
    while (!stop) {
      if (reporter != nullptr && reporter->cancelled()) return fail({Errc::Cancelled, "loading was cancelled"});
      const std::size_t at = next++;
      if (at >= jobs.size()) return;
      Result<Done> read = jobs[at].run(reader);
      if (!read.ok()) fail(std::move(read).error());
      done += jobs[at].bytes;
      if (reporter != nullptr) reporter->progress(double(done), double(total));
    }
  };
  std::vector<std::thread> helpers;
  try {
    for (int n = 1; n < kReadThreads; ++n) helpers.emplace_back([&] { work(nullptr); });
  } catch (const std::system_error&) {  // no more threads for us: those that run, or the caller alone, do it all
  }
  work(watch);
  for (std::thread& helper : helpers) helper.join();
  if (failure) return std::move(*failure);
  if (watch != nullptr) watch->progress(double(total), double(total));
  return Done{};
}

}  // namespace

Bytes ResidentWeights::bytesFor(const ModelLayout& layout) {
  Carver counter;
  Builder(counter).model(layout);
  return counter.used();
}

Result<ResidentWeights> ResidentWeights::load(const ModelLayout& layout, Arena& arena, ForwardWatch* watch) {
  const TensorReader reader = TRY(TensorReader::open(layout.files));
  Carver memory(TRY(arena.take(bytesFor(layout), 64, "weights")));
  Builder builder(memory);
  ResidentWeights out = builder.model(layout);
  TRY(runJobs(builder.takeJobs(), reader, watch));
  return out;
}

}  // namespace sluice
