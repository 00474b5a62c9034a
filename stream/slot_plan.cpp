#include "stream/slot_plan.h"

#include <algorithm>
#include <cstring>

#include "core/base/file.h"
#include "core/base/half.h"
#include "stream/sums.h"

namespace sluice {
namespace {

constexpr std::uint64_t kBlock = kDirectAlign.count();
// Moved and widened payloads start at a cache line.
constexpr std::uint64_t kLine = 64;

std::uint64_t alignmentOf(WeightFormat format) {
  switch (format) {
    case WeightFormat::F32: return 4;
    case WeightFormat::Bf16:
    case WeightFormat::F16: return 2;
    case WeightFormat::Fp8:
    case WeightFormat::Int8:
    case WeightFormat::Int4:
    case WeightFormat::Int3:
    case WeightFormat::Int2: return 1;
  }
  UNREACHABLE();
}

Arrival arrivalOf(ScaleFormat format, std::uint64_t offset) {
  switch (format) {
    case ScaleFormat::None: return Arrival::InPlace;
    case ScaleFormat::F32: return offset % 4 == 0 ? Arrival::InPlace : Arrival::Move;
    case ScaleFormat::Bf16: return Arrival::WidenBf16;
    case ScaleFormat::F16: return Arrival::WidenF16;
    case ScaleFormat::E8m0: return Arrival::WidenE8m0;
  }
  UNREACHABLE();
}

std::uint64_t finalBytes(const PlannedPayload& payload) {
  switch (payload.arrival) {
    case Arrival::InPlace:
    case Arrival::Move: return payload.extent.bytes;
    case Arrival::WidenBf16:
    case Arrival::WidenF16: return payload.extent.bytes * 2;
    case Arrival::WidenE8m0: return payload.extent.bytes * 4;
  }
  UNREACHABLE();
}

void widen(const PlannedPayload& payload, std::byte* slot) {
  const std::byte* const from = slot + payload.slot_offset;
  float* const to = reinterpret_cast<float*>(slot + payload.final_offset);
  const std::uint64_t width = payload.arrival == Arrival::WidenE8m0 ? 1 : 2;
  const std::uint64_t count = payload.extent.bytes / width;
  for (std::uint64_t scale_idx = 0; scale_idx < count; ++scale_idx) {
    std::uint16_t code = 0;
    std::memcpy(&code, from + scale_idx * width, width);
    to[scale_idx] = payload.arrival == Arrival::WidenBf16  ? bf16ToFloat(code)
                    : payload.arrival == Arrival::WidenF16 ? f16ToFloat(code)
                                                           : e8m0ToFloat(std::uint8_t(code));
  }
}

}  // namespace

SlotPlan planSlot(const ExpertLayout& layout) {
  SlotPlan plan;
  const std::array<const MatrixLayout*, 3> matrices{&layout.gate, &layout.up, &layout.down};
  for (std::size_t matrix_idx = 0; matrix_idx < matrices.size(); ++matrix_idx) {
    const MatrixLayout& m = *matrices[matrix_idx];
    PlannedPayload& data = plan.payloads[matrix_idx * 2];
    data.extent = m.data;
    data.arrival = m.data.offset % alignmentOf(m.format) == 0 ? Arrival::InPlace : Arrival::Move;
    PlannedPayload& scales = plan.payloads[matrix_idx * 2 + 1];
    if (m.scale_format != ScaleFormat::None) scales.extent = m.scales;
    scales.arrival = arrivalOf(m.scale_format, m.scales.offset);
  }

  std::array<PlannedPayload*, kPayloads> order;
  std::transform(plan.payloads.begin(), plan.payloads.end(), order.begin(), [](PlannedPayload& p) { return &p; });
  std::sort(order.begin(), order.end(), [](const PlannedPayload* a, const PlannedPayload* b) {
    return a->extent.file != b->extent.file ? a->extent.file < b->extent.file : a->extent.offset < b->extent.offset;
  });
  for (PlannedPayload* const payload : order) {
    const Extent& extent = payload->extent;
    if (extent.bytes == 0) continue;
    PlannedRead* read = plan.read_count == 0 ? nullptr : &plan.reads[std::size_t(plan.read_count - 1)];
    // A gap of less than a block costs nothing to read over.
    if (read == nullptr || read->file != extent.file || extent.offset > read->offset + read->bytes + kBlock) {
      const std::uint64_t slot_offset = read == nullptr ? 0 : read->slot_offset + roundUp(read->bytes, kBlock);
      read = &plan.reads[std::size_t(plan.read_count++)];
      *read = {extent.file, roundDown(extent.offset, kBlock), 0, slot_offset};
    }
    read->bytes = std::max(read->bytes, extent.offset + extent.bytes - read->offset);
    payload->slot_offset = read->slot_offset + (extent.offset - read->offset);
    payload->final_offset = payload->slot_offset;
    plan.slot_bytes = read->slot_offset + roundUp(read->bytes, kBlock);
  }
  for (PlannedPayload& payload : plan.payloads) {
    plan.payload_bytes += payload.extent.bytes;
    plan.memory_bytes += finalBytes(payload);
    if (payload.extent.bytes == 0 || payload.arrival == Arrival::InPlace) continue;
    payload.final_offset = roundUp(plan.slot_bytes, kLine);
    plan.slot_bytes = payload.final_offset + finalBytes(payload);
  }
  plan.slot_bytes = roundUp(plan.slot_bytes, kBlock);
  return plan;
}

ExpertWeights weightsIn(const SlotPlan& plan, const ExpertLayout& layout, const std::byte* slot) {
  const auto matrix = [&](const MatrixLayout& m, std::size_t payload_idx) {
    const PlannedPayload& scales = plan.payloads[payload_idx + 1];
    WeightMatrix view;
    view.data = slot + plan.payloads[payload_idx].final_offset;
    view.scales = scales.extent.bytes == 0 ? nullptr : reinterpret_cast<const float*>(slot + scales.final_offset);
    view.rows = m.rows;
    view.cols = m.cols;
    view.group = m.group;
    view.block_rows = m.block_rows;
    view.block_cols = m.block_cols;
    view.format = m.format;
    return view;
  };
  return {matrix(layout.gate, 0), matrix(layout.up, 2), matrix(layout.down, 4)};
}

void settlePayloads(const SlotPlan& plan, std::byte* slot) {
  for (const PlannedPayload& payload : plan.payloads) {
    if (payload.extent.bytes == 0 || payload.arrival == Arrival::InPlace) continue;
    if (payload.arrival == Arrival::Move) {
      std::memcpy(slot + payload.final_offset, slot + payload.slot_offset, payload.extent.bytes);
    } else {
      widen(payload, slot);
    }
  }
}

std::uint64_t sumPayloads(const SlotPlan& plan, const std::byte* slot) {
  std::uint64_t sum = 0;
  for (const PlannedPayload& payload : plan.payloads)
    sum = sumBytes({slot + payload.slot_offset, payload.extent.bytes}, sum);
  return sum;
}

}  // namespace sluice
