#pragma once
// How the six extents of an expert become few aligned reads into one slot, and where its matrices then lie. Pure; nothing is read.

#include <array>
#include <cstdint>
#include <string>

#include "core/base/result.h"
#include "core/format/matrix_layout.h"
#include "core/ports/expert_source.h"

namespace sluice {

/// One read: `bytes` of a file from a block boundary, to `slot_offset` of the slot, a block boundary too. So every payload keeps its
/// file offset modulo the block, and O_DIRECT needs no copy.
struct PlannedRead {
  std::uint32_t file = 0;
  std::uint64_t offset = 0;
  std::uint64_t bytes = 0;
  std::uint64_t slot_offset = 0;
};

/// What is to be done with a payload once it is in the slot.
enum class Arrival : std::uint8_t {
  InPlace,
  Move,  // its file offset is not aligned for its type: copied to a place that is
  WidenBf16,
  WidenF16,
  WidenE8m0,
};

/// One of gate, up, down: weights or scales. bytes 0: there is none.
struct PlannedPayload {
  Extent extent;
  std::uint64_t slot_offset = 0;   // where the bytes of the file land
  std::uint64_t final_offset = 0;  // where the kernels look; differs from slot_offset unless InPlace
  Arrival arrival = Arrival::InPlace;
};

constexpr int kPayloads = 6;  // gate weights, gate scales, up weights, up scales, down weights, down scales

struct SlotPlan {
  std::array<PlannedRead, kPayloads> reads;
  int read_count = 0;
  std::array<PlannedPayload, kPayloads> payloads;
  std::uint64_t slot_bytes = 0;     // a multiple of kDirectAlign
  std::uint64_t payload_bytes = 0;  // of the file
  std::uint64_t memory_bytes = 0;   // payloads as the kernels see them, no padding: experts of one kind agree in this
};

/// Payloads that are neighbours in a file share a read; each read starts at a block of its own in the slot.
SlotPlan planSlot(const ExpertLayout& layout);

/// The matrices of an expert whose slot starts at `slot`.
ExpertWeights weightsIn(const SlotPlan& plan, const ExpertLayout& layout, const std::byte* slot);

/// Moves and widens what must be; after it the slot is as weightsIn() says.
void settlePayloads(const SlotPlan& plan, std::byte* slot);

/// The sum of the payloads as they are in the files, gate weights to down scales: sumBytes() of each, going on from the one before.
/// Before settlePayloads() or after.
std::uint64_t sumPayloads(const SlotPlan& plan, const std::byte* slot);

}  // namespace sluice
