// Goal:   a bad disk may cost an answer, never change one.
// Method: the store over a device that fails by a seed; whatever is handed out must be what was written, whatever is not must be an Error that
//         names the thing; and once the faults are over everything can be had again.

#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>
#include <thread>

#include <gtest/gtest.h>

#include "core/base/rng.h"
#include "stream/expert_store.h"
#include "stream/open_device.h"
#include "stream/slot_plan.h"
#include "stream/verify.h"
#include "tests/support/faulty_device.h"
#include "tests/support/io_uring_allowed.h"
#include "tests/support/temp_dir.h"
#include "tests/support/test_seed.h"
#include "tests/support/tiny_experts.h"

namespace sluice {
namespace {

constexpr int kTopK = 4;

Sums sumsOf(const TinyExperts& model, BlockDevice& device) {
  const auto layers = model.layers();
  Arena arena = Arena::create(verifyBytes(layers)).value();
  return verifyModel(layers, {}, model.files(), device, arena, nullptr, [](const VerifyProgress&) { return true; }).value().sums;
}

struct FaultRig {
  TempDir dir;
  TinyExperts model;
  std::unique_ptr<BlockDevice> real;
  Sums sums;
  FaultyDevice device;
  Arena arena;
  SteadyClock clock;
  std::unique_ptr<ExpertStore> store;

  FaultRig(std::uint64_t seed, IoKind io, const Faults& faults, bool with_sums)
      : model(dir.path(), seed, {.split = true}),
        real(openDevice(model.files(), {io, 4, Caching::Direct}).value()),
        sums(sumsOf(model, *real)),
        device(*real, faults),
        arena(Arena::create(8_MiB).value()) {
    ExpertStoreOptions options;
    options.budget = 8_MiB;
    options.experts_max = 2 * kTopK + 2;
    options.top_k = kTopK;
    options.sums = with_sums ? &sums : nullptr;
    store = ExpertStore::create(model.layers(), model.files(), device, arena, clock, options).value();
  }
  Result<ExpertPin> ask(std::uint32_t layer, std::uint32_t e) {
    const ExpertId expert(e);
    Ticket ticket = store->request(LayerId(layer), {&expert, 1}, Urgency::Demand);
    return store->next(ticket);
  }
};

Faults chances(std::uint64_t seed, double eio, double short_read, double flip) {
  Faults faults;
  faults.seed = seed;
  faults.eio = eio;
  faults.short_read = short_read;
  faults.flip = flip;
  return faults;
}

class StoreOverFaults : public testing::TestWithParam<IoKind> {
 protected:
  void SetUp() override {
    if (GetParam() == IoKind::Uring && !ioUringAllowed()) GTEST_SKIP() << "io_uring is refused here";
  }
};
INSTANTIATE_TEST_SUITE_P(Devices, StoreOverFaults, testing::Values(IoKind::Uring, IoKind::Pread),
                         [](const auto& device) { return device.param == IoKind::Uring ? "Uring" : "Pread"; });

TEST_P(StoreOverFaults, AnswersRightOrSaysWhy_AndForgetsNoExpert) {
  std::uint64_t errors = 0, retried = 0;
  for (std::uint64_t seed = testSeed(); seed < testSeed() + 20; ++seed) {
    SCOPED_TRACE(seedNote(seed));
    Faults faults = chances(seed, 0.2, 0.2, 0.1);
    faults.delay = 0.05;
    faults.delay_time = std::chrono::microseconds(300);
    FaultRig rig(seed, GetParam(), faults, true);
    Rng rng(seed);
    for (int step = 0; step < 60; ++step) {
      const LayerId layer(1 + std::uint32_t(rng.below(2)));
      std::vector<ExpertId> experts;
      for (std::uint32_t i = 0; i < kTopK; ++i) experts.emplace_back(i * 4 + std::uint32_t(rng.below(4)));
      Ticket ticket = rig.store->request(layer, experts, Urgency::Demand);
      while (ticket.remaining > 0) {
        const Result<ExpertPin> pin = rig.store->next(ticket);
        if (pin.ok()) {
          EXPECT_EQ(rig.model.difference(layer, pin.value().expert(), pin.value().weights()), "");
          continue;
        }
        ++errors;
        EXPECT_EQ(ticket.remaining, 0);
        EXPECT_TRUE(pin.error().code == Errc::Io || pin.error().code == Errc::Corrupt);
        EXPECT_NE(pin.error().what.find(" of layer " + std::to_string(layer.value())), std::string::npos) << pin.error().what;
        EXPECT_NE(pin.error().what.find(".safetensors"), std::string::npos) << pin.error().what;
      }
    }
    rig.store->drain();
    retried += rig.store->report().reads_retried;
    rig.device.change({});
    for (std::uint32_t layer = 1; layer <= 2; ++layer)
      for (std::uint32_t e = 0; e < 16; ++e) {
        const Result<ExpertPin> pin = rig.ask(layer, e);
        ASSERT_TRUE(pin.ok()) << pin.error().what;
        EXPECT_EQ(rig.model.difference(LayerId(layer), ExpertId(e), pin.value().weights()), "");
      }
  }
  EXPECT_GT(errors, 0u);
  EXPECT_GT(retried, errors);
}

// Negative control of the test above: without sums a flipped bit does come through.
TEST_P(StoreOverFaults, NeedsSumsToNoticeAFlippedBit) {
  FaultRig rig(3, GetParam(), chances(3, 0, 0, 1), false);
  int wrong = 0;
  for (std::uint32_t e = 0; e < 16; ++e) {
    const Result<ExpertPin> pin = rig.ask(1, e);
    ASSERT_TRUE(pin.ok());
    wrong += rig.model.difference(LayerId(1), ExpertId(e), pin.value().weights()).empty() ? 0 : 1;
  }
  EXPECT_GT(wrong, 0);
}

TEST_P(StoreOverFaults, ReadsAgainOnce_WhenASumDoesNotMatch) {
  FaultRig rig(4, GetParam(), chances(4, 0, 0, 1), true);
  int corrupt = 0;
  for (std::uint32_t e = 0; e < 16; ++e) {
    const Result<ExpertPin> pin = rig.ask(1, e);
    if (pin.ok()) {  // the flip fell into the padding of a block
      EXPECT_EQ(rig.model.difference(LayerId(1), ExpertId(e), pin.value().weights()), "");
      continue;
    }
    ++corrupt;
    EXPECT_EQ(pin.error().code, Errc::Corrupt);
    EXPECT_NE(pin.error().what.find("expert " + std::to_string(e) + " of layer 1 does not match its sum"), std::string::npos) << pin.error().what;
  }
  EXPECT_GT(corrupt, 0);
  EXPECT_GE(rig.store->report().reads_retried, std::uint64_t(corrupt));
}

TEST_P(StoreOverFaults, TriesABoundedNumberOfTimes) {
  FaultRig rig(5, GetParam(), chances(5, 1, 0, 0), false);
  const Result<ExpertPin> refused = rig.ask(2, 7);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, Errc::Io);
  EXPECT_NE(refused.error().what.find("expert 7 of layer 2"), std::string::npos);
  EXPECT_NE(refused.error().what.find("3 times: Input/output error"), std::string::npos) << refused.error().what;
  rig.store->drain();
  EXPECT_EQ(rig.device.counts().eio, 6u);  // three times each of two reads
}

TEST_P(StoreOverFaults, OneBadExpertEndsItsTicket_OthersStay) {
  FaultRig rig(6, GetParam(), {}, false);
  { const Result<ExpertPin> warm = rig.ask(1, 2); ASSERT_TRUE(warm.ok()); }
  rig.device.change(chances(6, 1, 0, 0));
  const std::vector<ExpertId> experts = {ExpertId(2), ExpertId(3)};
  Ticket ticket = rig.store->request(LayerId(1), experts, Urgency::Demand);
  Ticket cancelled = rig.store->request(LayerId(1), experts, Urgency::Demand);
  rig.store->cancel(cancelled);
  Result<ExpertPin> got = rig.store->next(ticket);
  if (got.ok()) {
    EXPECT_EQ(got.value().expert(), ExpertId(2));
    EXPECT_FALSE(rig.store->next(ticket).ok());
  }
  EXPECT_EQ(ticket.remaining, 0);
  const Result<ExpertPin> still = rig.ask(1, 2);
  ASSERT_TRUE(still.ok());
  EXPECT_EQ(rig.model.difference(LayerId(1), ExpertId(2), still.value().weights()), "");
}

TEST_P(StoreOverFaults, WaitsForAStalledRead_AndCountsTheWait) {
  Faults faults;
  faults.stall = 1;
  faults.stall_time = std::chrono::milliseconds(60);
  FaultRig rig(7, GetParam(), faults, true);
  const Result<ExpertPin> pin = rig.ask(1, 0);
  ASSERT_TRUE(pin.ok());
  EXPECT_GE(rig.store->report().wait_time, std::chrono::milliseconds(50));
  EXPECT_EQ(rig.model.difference(LayerId(1), ExpertId(0), pin.value().weights()), "");
}

enum class Change { Renamed, Rewritten, Removed, Truncated };

const char* nameOf(Change change) {
  switch (change) {
    case Change::Renamed: return "Renamed";
    case Change::Rewritten: return "Rewritten";
    case Change::Removed: return "Removed";
    case Change::Truncated: return "Truncated";
  }
  UNREACHABLE();
}

class FileChangedUnderUs : public testing::TestWithParam<Change> {};
INSTANTIATE_TEST_SUITE_P(Ways, FileChangedUnderUs, testing::Values(Change::Renamed, Change::Rewritten, Change::Removed, Change::Truncated),
                         [](const auto& way) { return nameOf(way.param); });

TEST_P(FileChangedUnderUs, IsSaidByName_AndNothingOfItIsHandedOut) {
  FaultRig rig(8, IoKind::Pread, {}, false);
  { const Result<ExpertPin> before = rig.ask(1, 0); ASSERT_TRUE(before.ok()); }
  const std::filesystem::path path = rig.model.files()[0].path;
  switch (GetParam()) {
    case Change::Renamed:
      std::filesystem::copy_file(path, rig.dir.path() / "new");
      std::filesystem::rename(rig.dir.path() / "new", path);
      break;
    case Change::Rewritten: std::fstream(path, std::ios::in | std::ios::out) << "xx"; break;
    case Change::Removed: std::filesystem::remove(path); break;
    case Change::Truncated: std::filesystem::resize_file(path, 100); break;
  }
  // One file is looked at a request: at the latest after all have been.
  std::optional<Error> error;
  for (std::uint32_t e = 0; e < 4 && !error; ++e) {
    const Result<ExpertPin> pin = rig.ask(2, e);
    if (!pin.ok()) error = pin.error();
  }
  ASSERT_TRUE(error);
  EXPECT_EQ(error->code, Errc::Corrupt);
  EXPECT_NE(error->what.find("model file " + path.string() + " was replaced while running"), std::string::npos) << error->what;
  EXPECT_NE(error->what.find("restart"), std::string::npos) << error->what;
  EXPECT_FALSE(rig.ask(1, 0).ok());  // and stays said
}

TEST(OpenDevice, RefusesAFileThatIsNotTheOneWhoseHeaderWasRead) {
  TempDir dir;
  const TinyExperts model(dir.path(), 1, {});
  std::ofstream(model.files()[0].path, std::ios::app) << "more";
  for (const IoKind io : {IoKind::Uring, IoKind::Pread}) {
    if (io == IoKind::Uring && !ioUringAllowed()) continue;
    const auto refused = openDevice(model.files(), {io, 4, Caching::Direct});
    ASSERT_FALSE(refused.ok());
    EXPECT_EQ(refused.error().code, Errc::Corrupt);
    EXPECT_NE(refused.error().what.find("was replaced"), std::string::npos);
  }
}

TEST(OpenDevice, RefusesDepthsOutOfRange) {
  for (const int depth : {0, -1, 129}) EXPECT_EQ(openDevice({}, {IoKind::Pread, depth, Caching::Direct}).error().code, Errc::BadRequest);
}

TEST(OpenDevice, ChoosesByItself_AndSaysWhich) {
  TempDir dir;
  const TinyExperts model(dir.path(), 1, {});
  const auto chosen = openDevice(model.files(), {std::nullopt, 4, Caching::Direct}).value();
  const DeviceReport report = chosen->report();
  if (report.name == "pread") {
    ASSERT_FALSE(report.report.warnings.empty());
    EXPECT_EQ(report.report.warnings.back().code, "uring_refused");
  } else {
    EXPECT_EQ(report.name, "io_uring");
  }
  EXPECT_EQ(report.depth, 4);
  EXPECT_EQ(report.files, 1);
}

TEST(Faults, GrammarIsRead) {
  const Faults faults = parseFaults("seed=7,eio=.01,short=.05,flip=.001,delay=.1:20ms,stall=.001:5s,enospc_after=100,crash_at=3").value();
  EXPECT_EQ(faults.seed, 7u);
  EXPECT_EQ(faults.eio, 0.01);
  EXPECT_EQ(faults.short_read, 0.05);
  EXPECT_EQ(faults.flip, 0.001);
  EXPECT_EQ(faults.delay, 0.1);
  EXPECT_EQ(faults.delay_time, std::chrono::milliseconds(20));
  EXPECT_EQ(faults.stall, 0.001);
  EXPECT_EQ(faults.stall_time, std::chrono::seconds(5));
  EXPECT_EQ(faults.enospc_after, 100u);
  EXPECT_EQ(faults.crash_at, 3u);
  EXPECT_TRUE(parseFaults("").ok());
  for (const char* bad : {"eio", "eio=2", "eio=x", "delay=.1", "delay=.1:20", "delay=.1:ms", "what=1", "seed=-1", "crash_at="})
    EXPECT_FALSE(parseFaults(bad).ok()) << bad;
}

}  // namespace
}  // namespace sluice
