#include "stream/verify.h"

#include <algorithm>
#include <array>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>

#include <fmt/format.h>

#include "stream/file_set.h"
#include "stream/slot_plan.h"

namespace sluice {
namespace {

// Buffers in turn: enough reads in flight to keep a disk busy while one buffer is summed.
constexpr int kBuffers = 8;
constexpr int kAttempts = 3;

// One buffer's worth: an expert, or a piece of a tensor.
struct Job {
  std::size_t item = 0;      // expert key, or experts + index of the tensor
  bool last = true;          // of its item
  const ExpertLayout* expert = nullptr;
  Extent piece;              // of a tensor
};

class Buffer final : public ReadSink {
 public:
  Buffer() = default;
  std::byte* memory = nullptr;
  Job job;
  SlotPlan plan;

  void start(BlockDevice& device) {
    error_ = 0;
    complete_ = true;
    std::array<ReadOp*, kPayloads> started;
    left_ = plan.read_count;
    for (int read_idx = 0; read_idx < plan.read_count; ++read_idx) {
      const PlannedRead& read = plan.reads[std::size_t(read_idx)];
      ReadOp& op = ops_[std::size_t(read_idx)];
      op = {read.file, read.offset, read.bytes, memory + read.slot_offset, Urgency::Demand, this, nullptr};
      started[std::size_t(read_idx)] = &op;
    }
    device.submit({started.data(), std::size_t(plan.read_count)});
  }

  // Empty when all came, otherwise the reason.
  std::string wait() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return left_ == 0; });
    if (error_ != 0) return errnoText(error_);
    return complete_ ? std::string() : "the file ends too early";
  }

 private:
  void readDone(ReadOp& op, const ReadDone& done) override {
    const std::lock_guard lock(mutex_);
    if (done.error != 0) error_ = done.error;
    if (done.bytes < op.bytes) complete_ = false;
    if (--left_ == 0) changed_.notify_all();
  }
  std::array<ReadOp, kPayloads> ops_;
  std::mutex mutex_;
  std::condition_variable changed_;
  int left_ = 0;
  int error_ = 0;
  bool complete_ = true;
};

// A tensor's piece is an expert of one matrix without scales, read by the same plan.
SlotPlan planPiece(const Extent& piece) {
  ExpertLayout only;
  only.gate.format = WeightFormat::Int8;
  only.gate.data = piece;
  return planSlot(only);
}

std::vector<Job> jobsOf(std::span<const std::span<const ExpertLayout>> layers, std::span<const ResidentExtent> resident) {
  std::vector<Job> jobs;
  std::size_t item = 0;
  for (const std::span<const ExpertLayout> layer : layers)
    for (const ExpertLayout& expert : layer) jobs.push_back({item++, true, &expert, {}});
  for (const ResidentExtent& tensor : resident) {
    std::uint64_t done = 0;
    do {
      const std::uint64_t piece = std::min(tensor.extent.bytes - done, kSumPiece.count());
      jobs.push_back({item, done + piece == tensor.extent.bytes, nullptr, {tensor.extent.file, tensor.extent.offset + done, piece}});
      done += piece;
    } while (done < tensor.extent.bytes);
    ++item;
  }
  return jobs;
}

std::string expertName(std::span<const std::span<const ExpertLayout>> layers, std::size_t key) {
  std::size_t layer_idx = 0;
  while (key >= layers[layer_idx].size()) key -= layers[layer_idx++].size();
  return fmt::format("expert {} of layer {}", key, layer_idx);
}

std::uint64_t bufferBytes(std::span<const std::span<const ExpertLayout>> layers) {
  std::uint64_t largest = kSumPiece.count() + 2 * kDirectAlign.count();
  for (const std::span<const ExpertLayout> layer : layers)
    for (const ExpertLayout& expert : layer) largest = std::max(largest, planSlot(expert).slot_bytes);
  return roundUp(largest, kDirectAlign.count());
}

}  // namespace

Bytes verifyBytes(std::span<const std::span<const ExpertLayout>> layers) { return Bytes(bufferBytes(layers) * kBuffers); }

Result<VerifyReport> verifyModel(std::span<const std::span<const ExpertLayout>> layers, std::span<const ResidentExtent> resident,
                                 std::span<const ModelFile> files, BlockDevice& device, Arena& arena, const Sums* known, const VerifyCallback& callback) {
  const std::vector<Job> jobs = jobsOf(layers, resident);
  const std::uint64_t buffer_bytes = bufferBytes(layers);
  const std::span<std::byte> memory = TRY(arena.take(Bytes(buffer_bytes * kBuffers), kDirectAlign.count(), "verify buffers"));
  std::array<Buffer, kBuffers> buffers;
  for (std::size_t buffer_idx = 0; buffer_idx < buffers.size(); ++buffer_idx) buffers[buffer_idx].memory = memory.data() + buffer_idx * buffer_bytes;

  VerifyReport report;
  VerifyProgress progress;
  std::size_t experts = 0;
  for (const std::span<const ExpertLayout> layer : layers) experts += layer.size();
  const auto planOf = [](const Job& job) { return job.expert != nullptr ? planSlot(*job.expert) : planPiece(job.piece); };
  for (const Job& job : jobs) progress.total += Bytes(planOf(job).payload_bytes);
  report.sums.experts.resize(experts);
  report.sums.resident.resize(resident.size());

  std::size_t next_started = 0;
  const auto startNext = [&] {
    Buffer& buffer = buffers[next_started % kBuffers];
    buffer.job = jobs[next_started++];
    buffer.plan = planOf(buffer.job);
    buffer.start(device);
  };
  bool going_on = true;
  std::uint64_t sum = 0;
  std::string reason;
  for (std::size_t job_idx = 0; job_idx < jobs.size() && (going_on || job_idx < next_started); ++job_idx) {
    while (going_on && next_started < jobs.size() && next_started < job_idx + kBuffers) startNext();
    Buffer& buffer = buffers[job_idx % kBuffers];
    std::string failed = buffer.wait();
    for (int attempt = 1; attempt < kAttempts && going_on && !failed.empty(); ++attempt) {
      buffer.start(device);
      failed = buffer.wait();
    }
    if (!going_on) continue;  // reads under way are waited for, nothing more
    if (reason.empty()) reason = failed;
    const PlannedPayload& first = buffer.plan.payloads[0];
    sum = buffer.job.expert != nullptr ? sumPayloads(buffer.plan, buffer.memory) : sumBytes({buffer.memory + first.slot_offset, first.extent.bytes}, sum);
    progress.done += Bytes(buffer.plan.payload_bytes);
    report.bytes_read += Bytes(buffer.plan.payload_bytes);
    if (buffer.job.last) {
      const std::size_t item = buffer.job.item;
      const bool is_expert = item < experts;
      (is_expert ? report.sums.experts[item] : report.sums.resident[item - experts]) = sum;
      if (reason.empty() && known != nullptr && sum != (is_expert ? known->experts[item] : known->resident[item - experts])) reason = "its sum does not match";
      if (!reason.empty()) {
        const Extent& extent = is_expert ? first.extent : resident[item - experts].extent;
        report.bad.push_back({is_expert ? expertName(layers, item) : resident[item - experts].name, files[extent.file].path.string(), extent.offset,
                              extent.bytes, reason});
      }
      sum = 0;
      reason.clear();
    }
    going_on = callback(progress);
  }
  if (!going_on) return Error{Errc::Cancelled, fmt::format("verify was stopped after {} of {} bytes", progress.done.count(), progress.total.count())};
  for (const ModelFile& file : files) TRY(checkUnchanged(file));
  return report;
}

}  // namespace sluice
