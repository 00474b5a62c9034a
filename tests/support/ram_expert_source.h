#pragma once
// All routed experts of a model in memory, handed out in an order drawn from a seed: for tests of the decoder that are not about streaming.
// It keeps the books of the port: how many are demanded and pinned, and that every pin is let go. After the constructor it allocates nothing.

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/base/check.h"
#include "core/base/rng.h"
#include "core/format/tensor_bytes.h"
#include "core/model/layout.h"
#include "core/ports/expert_source.h"

namespace sluice {

class RamExpertSource final : public ExpertSource {
 public:
  /// pins_max 0: the model's top_k, the least that the port allows.
  RamExpertSource(const ModelLayout& layout, int pins_max, std::uint64_t seed)
      : pins_max_(pins_max > 0 ? pins_max : layout.config.router.top_k), rng_(seed) {
    Result<TensorReader> reader = TensorReader::open(layout.files);
    CHECK(reader.ok());
    const auto addLayer = [&](const LayerLayout& layer) {
      std::vector<ExpertWeights>& experts = layers_.emplace_back();
      for (const ExpertLayout& e : layer.experts)
        experts.push_back({load(reader.value(), e.gate), load(reader.value(), e.up), load(reader.value(), e.down)});
    };
    for (const LayerLayout& layer : layout.layers) addLayer(layer);
    if (layout.mtp) addLayer(layout.mtp->layer);
    for (Waiting& waiting : waiting_) waiting.experts.reserve(std::size_t(pins_max_));
    pinned_.resize(layers_.size() * std::size_t(layout.config.router.experts));
    experts_ = std::uint32_t(layout.config.router.experts);
  }
  ~RamExpertSource() override { CHECK(pins_held_ == 0 && demanded_ == 0); }

  Ticket request(LayerId layer, std::span<const ExpertId> experts, Urgency urgency) override {
    CHECK(urgency == Urgency::Demand && int(experts.size()) <= pins_max_ && !experts.empty());
    for (std::uint32_t handle = 0; handle < std::size(waiting_); ++handle) {
      Waiting& waiting = waiting_[handle];
      if (!waiting.experts.empty()) continue;
      waiting.layer = layer;
      waiting.experts.assign(experts.begin(), experts.end());
      demanded_ += int(experts.size());
      CHECK(demanded_ + pins_held_ <= 2 * pins_max_);
      return {handle, int(experts.size())};
    }
    UNREACHABLE();
  }

  Result<ExpertPin> next(Ticket& ticket) override {
    Waiting& waiting = waiting_[ticket.handle];
    CHECK(ticket.remaining > 0 && ticket.remaining == int(waiting.experts.size()));
    if (fail_after_ >= 0 && fail_after_-- == 0) {
      cancel(ticket);
      return Error{Errc::Io, "a test wanted this read to fail"};
    }
    const std::size_t at = std::size_t(rng_.below(waiting.experts.size()));
    const ExpertId expert = waiting.experts[at];
    waiting.experts.erase(waiting.experts.begin() + std::ptrdiff_t(at));
    --ticket.remaining;
    --demanded_;
    ++pins_held_;
    ++handed_out_;
    const std::uint32_t slot = waiting.layer.value() * experts_ + expert.value();
    ++pinned_[slot];
    return ExpertPin(*this, slot, expert, layers_[waiting.layer.value()][expert.value()]);
  }

  void cancel(Ticket& ticket) override {
    demanded_ -= ticket.remaining;
    waiting_[ticket.handle].experts.clear();
    ticket.remaining = 0;
  }
  int pins_max() const override { return pins_max_; }
  StreamReport report() const override { return {.hits = handed_out_}; }
  void unpin(std::uint32_t slot) override {
    CHECK(pinned_[slot] > 0);
    --pinned_[slot];
    --pins_held_;
  }

  /// The n-th next() from now fails with Io.
  void failAfter(int nexts) { fail_after_ = nexts; }
  /// For tests that break weights on purpose.
  ExpertWeights& weights(LayerId layer, ExpertId expert) { return layers_[layer.value()][expert.value()]; }
  int pinsHeld() const { return pins_held_; }
  int demanded() const { return demanded_; }

 private:
  struct Waiting {
    LayerId layer;
    std::vector<ExpertId> experts;
  };
  WeightMatrix load(const TensorReader& reader, const MatrixLayout& m) {
    auto data = std::make_unique<std::byte[]>(std::size_t(m.data.bytes));
    CHECK(reader.read(m.data, {data.get(), std::size_t(m.data.bytes)}).ok());
    const std::size_t count = std::size_t(scaleCount(m));
    auto scales = std::make_unique<float[]>(count);
    if (count > 0) CHECK(reader.readScales(m, {scales.get(), count}).ok());
    const WeightMatrix out{data.get(), count > 0 ? scales.get() : nullptr, m.rows, m.cols, m.group, m.block_rows, m.block_cols, m.format};
    bytes_.push_back(std::move(data));
    scales_.push_back(std::move(scales));
    return out;
  }

  int pins_max_;
  Rng rng_;
  std::uint32_t experts_ = 0;
  std::vector<std::vector<ExpertWeights>> layers_;
  std::vector<std::unique_ptr<std::byte[]>> bytes_;
  std::vector<std::unique_ptr<float[]>> scales_;
  Waiting waiting_[4];
  std::vector<int> pinned_;
  int pins_held_ = 0, demanded_ = 0, fail_after_ = -1;
  std::uint64_t handed_out_ = 0;
};

}  // namespace sluice
