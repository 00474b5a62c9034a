#pragma once
// The model as a Forward: embedding, layers, final norm, head, over rows of any mix of sequences.

#include <memory>
#include <span>
#include <vector>

#include "core/base/arena.h"
#include "core/base/parallel.h"
#include "core/base/result.h"
#include "core/model/activations.h"
#include "core/model/layer_context.h"
#include "core/model/rope.h"
#include "core/model/weights.h"
#include "core/ports/expert_source.h"
#include "core/ports/forward.h"
#include "core/ports/kv_store.h"

namespace sluice {

struct DecoderOptions {
  bool exact = false;    // f32 activations and dequantised weights (give it an F32 KvStore as well)
  int planes = 2;        // otherwise: int8 planes of an activation, 1 or 2 (`--activations 8|16`)
  int rows_max = 512;    // rows of one forward (`--prefill-rows`)
  int logits_max = 0;    // of them, rows that may want logits; 0: as many as logitsMaxFor() says
  int context = 8192;    // tokens a sequence may hold: what the KvStore was made for
};

/// Rows whose logits fit in 64 MiB, at least 16, at most rows_max.
int logitsMaxFor(int vocabulary, int rows_max);

/// What a KvStore must keep for each layer; with the draft layer, that comes last.
std::vector<KvLayerShape> kvShapes(const ModelConfig& config, bool with_mtp);

/// Everything a decoder works with; all of it outlives the decoder.
struct DecoderParts {
  const ModelConfig* config = nullptr;
  const ResidentWeights* weights = nullptr;
  ExpertSource* experts = nullptr;
  KvStore* kv = nullptr;
  const Kernels* kernels = nullptr;
  Team* team = nullptr;
};

/// threads  one caller at a time; uses the team. Rows and sums are split so that a row's result depends on the row and on what is cached before it
///          alone: not on threads, on the other rows, on how a prompt was cut, on the order in which experts arrive.
class Decoder final : public Forward {
 public:
  /// What create() takes from its arena.
  static Bytes bytesFor(const ModelConfig& config, const DecoderOptions& options, const Kernels& kernels, int threads);
  /// Takes its scratch from `arena` under the name "activations"; forward() allocates nothing.
  /// errors  OutOfBudget
  static Result<std::unique_ptr<Decoder>> create(const DecoderParts& parts, const DecoderOptions& options, Arena& arena);

  const ForwardFacts& facts() const override { return facts_; }
  Result<SequenceId> open() override { return parts_.kv->open(); }
  void close(SequenceId sequence) override { parts_.kv->close(sequence); }
  void rollback(SequenceId sequence, int length) override;
  Result<ForwardOutput> forward(std::span<const ForwardRow> rows, ForwardWatch* watch) override;

  /// Sees every forward from now on; null: nobody does.
  void setTap(LayerTap* tap) { tap_ = tap; }

 private:
  struct Growth {  // of one sequence in this forward
    SequenceId sequence;
    int before = 0, after = 0;
  };
  Decoder(const DecoderParts& parts, const DecoderOptions& options, Carver& memory);
  Result<Done> checkRows(std::span<const ForwardRow> rows);
  Result<Done> reserveRows();
  Result<ForwardOutput> compute(std::span<const ForwardRow> rows, ForwardWatch* watch);
  Result<Done> embed(std::span<const ForwardRow> rows);
  Result<ForwardOutput> output(std::span<const ForwardRow> rows);
  void headTile(std::span<const int> rows, int first);

  DecoderParts parts_;
  DecoderOptions options_;
  ForwardFacts facts_;
  Numerics numerics_;
  RopeTable rope_;
  Activations scratch_;
  LayerTap* tap_ = nullptr;
  std::vector<Growth> growths_;      // capacity rows_max
  std::vector<int> logits_rows_;     // capacity rows_max: rows that want logits
};

}  // namespace sluice
