// Goal:   sums are what docs/FORMATS.md says, belong to one model, and verify finds every byte that changed.
// Method: the document's dump (made by another XXH3 binding) is parsed and compared both ways; files are damaged byte by byte.

#include "stream/sums.h"

#include <array>
#include <fstream>
#include <sstream>

#include <gtest/gtest.h>

#include "core/base/rng.h"
#include "stream/open_device.h"
#include "stream/slot_plan.h"
#include "stream/verify.h"
#include "tests/support/faulty_device.h"
#include "tests/support/temp_dir.h"
#include "tests/support/test_seed.h"
#include "tests/support/tiny_experts.h"

namespace sluice {
namespace {

// The bytes of the block that starts with ```NAME in docs/FORMATS.md.
std::string dumpOf(const std::string& name) {
  std::ifstream document(std::string(SLUICE_TEST_DATA) + "/../docs/FORMATS.md");
  std::string bytes, line;
  bool inside = false;
  while (std::getline(document, line)) {
    if (inside && line == "```") break;
    if (inside) {
      std::istringstream words(line);
      std::string word;
      words >> word;
      EXPECT_EQ(std::stoul(word, nullptr, 16), bytes.size()) << "offset column";
      while (words >> word) bytes.push_back(char(std::stoul(word, nullptr, 16)));
    }
    inside |= line == "```" + name;
  }
  return bytes;
}

std::vector<ModelFile> documentedFiles() {
  ModelFile main, draft;
  main.path = "/anywhere/out-00000.safetensors";
  main.size = 4096;
  draft.path = "/anywhere/out-mtp-00000.safetensors";
  draft.size = 1024;
  return {main, draft};
}

std::uint64_t sumOfTexts(std::initializer_list<std::string> texts) {
  std::uint64_t sum = 0;
  for (const std::string& text : texts) sum = sumBytes(std::as_bytes(std::span(text)), sum);
  return sum;
}

Sums documentedSums() {
  return {{sumOfTexts({"gate weights", "gate scales", "up weights", "up scales", "down weights", "down scales"}), sumOfTexts({"GATE", "", "UP", "", "DOWN", ""})},
          {sumOfTexts({"norm"})}};
}

TEST(Sums, AreWhatTheDocumentSays_InBothDirections) {
  const TempDir dir;
  const std::string dump = dumpOf("sums");
  ASSERT_EQ(dump.size(), 32u + 2 * 16 + 3 * 8);
  std::ofstream(dir.path() / "documented", std::ios::binary) << dump;
  Report report;
  const std::optional<Sums> sums = loadSums(dir.path() / "documented", documentedFiles(), 2, 1, report);
  ASSERT_TRUE(sums) << report.warnings.at(0).text;
  EXPECT_EQ(sums->experts, documentedSums().experts);
  EXPECT_EQ(sums->resident, documentedSums().resident);
  RealFileSteps steps;
  ASSERT_TRUE(writeSums(steps, dir.path() / "ours", documentedFiles(), documentedSums()).ok());
  EXPECT_EQ(readWholeFile(dir.path() / "ours", 1_MiB).value(), dump);
}

// 16 MiB and five bytes of (7 i + i / 251) mod 256; the figure is another binding's.
TEST(Sums, GoOnFromPieceToPiece) {
  std::vector<std::byte> bytes(kSumPiece.count() + 5);
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = std::byte((i * 7 + i / 251) & 255);
  EXPECT_EQ(sumBytes(bytes, 0), 0x64f66a84133b404cull);
  bytes.back() ^= std::byte(1);
  EXPECT_NE(sumBytes(bytes, 0), 0x64f66a84133b404cull);
}

TEST(Sums, OfAnotherModelOrVersionAreIgnored_AndSaidToBe) {
  const TempDir dir;
  const std::filesystem::path path = dir.path() / "sums";
  const auto whyIgnored = [&](const std::string& content, const std::vector<ModelFile>& files, std::size_t experts, std::size_t resident) {
    std::ofstream(path, std::ios::binary) << content;
    Report report;
    EXPECT_FALSE(loadSums(path, files, experts, resident, report));
    EXPECT_EQ(report.warnings.size(), 1u);
    EXPECT_EQ(report.warnings.at(0).code, "sums_ignored");
    return report.warnings.at(0).text;
  };
  const std::string dump = dumpOf("sums");
  std::vector<ModelFile> files = documentedFiles();
  files[1].size = 1025;
  EXPECT_NE(whyIgnored(dump, files, 2, 1).find("another model, where out-mtp-00000.safetensors has 1024 bytes (here 1025)"), std::string::npos);
  files = documentedFiles();
  files[0].path = "out-00001.safetensors";
  EXPECT_NE(whyIgnored(dump, files, 2, 1).find("without a file out-00001.safetensors"), std::string::npos);
  files.pop_back();
  EXPECT_NE(whyIgnored(dump, files, 2, 1).find("of 2 files (this one has 1)"), std::string::npos);
  EXPECT_NE(whyIgnored(dump, documentedFiles(), 3, 1).find("2 experts"), std::string::npos);
  std::string changed = dump;
  changed[8] = 2;
  EXPECT_NE(whyIgnored(changed, documentedFiles(), 2, 1).find("version 2, this build reads 1"), std::string::npos);
  for (std::size_t length = 0; length < dump.size(); ++length) static_cast<void>(whyIgnored(dump.substr(0, length), documentedFiles(), 2, 1));
  for (std::size_t at = 0; at < dump.size(); ++at) {
    changed = dump;
    changed[at] = char(changed[at] ^ 0x10);
    static_cast<void>(whyIgnored(changed, documentedFiles(), 2, 1));
  }
  Report silent;
  EXPECT_FALSE(loadSums(dir.path() / "none", documentedFiles(), 2, 1, silent));
  EXPECT_TRUE(silent.warnings.empty());
}

struct VerifyRig {
  TempDir dir;
  TinyExperts model;
  std::unique_ptr<BlockDevice> device;
  std::vector<ResidentExtent> resident;

  explicit VerifyRig(std::uint64_t seed) : model(dir.path(), seed, {.split = true, .draft_layer = true}) { reopen(); }
  void reopen() {
    std::vector<ModelFile> files;
    for (const ModelFile& file : model.files()) files.push_back(modelFileAt(file.path));
    files_ = files;
    device = openDevice(files_, {std::nullopt, 4, Caching::Direct}).value();
    resident = {{"first bytes", {0, 0, 777}}, {"nothing", {1, 5, 0}}};
  }
  Result<VerifyReport> verify(BlockDevice& by, const Sums* known, const VerifyCallback& callback = [](const VerifyProgress&) { return true; }) {
    const auto layers = model.layers();
    Arena arena = Arena::create(verifyBytes(layers)).value();
    return verifyModel(layers, resident, files_, by, arena, known, callback);
  }
  std::vector<ModelFile> files_;
};

TEST(Verify, ReadsEverything_AndTellsHowFarItIs) {
  VerifyRig rig(1);
  VerifyProgress seen;
  const VerifyReport report = rig.verify(*rig.device, nullptr, [&](const VerifyProgress& p) {
                                   EXPECT_GE(p.done, seen.done);
                                   seen = p;
                                   return true;
                                 }).value();
  EXPECT_TRUE(report.bad.empty());
  EXPECT_EQ(report.sums.experts.size(), 3u * 16u);
  EXPECT_EQ(report.sums.resident.size(), 2u);
  EXPECT_EQ(seen.done, seen.total);
  EXPECT_EQ(report.bytes_read, seen.total);
  std::uint64_t bytes = 777;
  for (std::uint32_t layer = 1; layer <= 3; ++layer)
    for (std::uint32_t e = 0; e < 16; ++e) {
      const ExpertLayout& l = rig.model.layout(LayerId(layer), ExpertId(e));
      for (const MatrixLayout* const m : {&l.gate, &l.up, &l.down}) bytes += m->data.bytes + m->scales.bytes;
    }
  EXPECT_EQ(seen.total, Bytes(bytes));
}

TEST(Verify, FindsTheExpertOfEveryChangedByte_AndNoOther) {
  for (std::uint64_t seed = testSeed(); seed < testSeed() + 20; ++seed) {
    SCOPED_TRACE(seedNote(seed));
    Rng rng(seed);
    VerifyRig rig(seed);
    const Sums sums = rig.verify(*rig.device, nullptr).value().sums;
    EXPECT_TRUE(rig.verify(*rig.device, &sums).value().bad.empty());
    const std::uint32_t layer = 1 + std::uint32_t(rng.below(3)), e = std::uint32_t(rng.below(16));
    const ExpertLayout& l = rig.model.layout(LayerId(layer), ExpertId(e));
    const std::array<Extent, 6> extents{l.gate.data, l.gate.scales, l.up.data, l.up.scales, l.down.data, l.down.scales};
    const Extent extent = extents[rng.below(6)];
    const std::uint64_t at = extent.offset + rng.below(extent.bytes);
    std::fstream file(rig.model.files()[extent.file].path, std::ios::in | std::ios::out | std::ios::binary);
    file.seekg(std::streamoff(at));
    const int byte = file.get();
    file.seekp(std::streamoff(at));
    file.put(char(byte ^ 0x40));
    file.close();
    rig.reopen();
    const VerifyReport report = rig.verify(*rig.device, &sums).value();
    // A byte among the first 777 is the other tensor's too.
    ASSERT_EQ(report.bad.size(), extent.file == 0 && at < 777 ? 2u : 1u);
    EXPECT_EQ(report.bad[0].what, "expert " + std::to_string(e) + " of layer " + std::to_string(layer));
    EXPECT_EQ(report.bad[0].file, rig.model.files()[l.gate.data.file].path.string());
    EXPECT_EQ(report.bad[0].offset, l.gate.data.offset);
    EXPECT_EQ(report.bad[0].reason, "its sum does not match");
  }
}

TEST(Verify, ListsWhatCanNotBeRead) {
  VerifyRig rig(2);
  Faults faults;
  faults.eio = 1;
  FaultyDevice broken(*rig.device, faults);
  const VerifyReport report = rig.verify(broken, nullptr).value();
  EXPECT_EQ(report.bad.size(), 3u * 16u + 1u);
  EXPECT_EQ(report.bad.back().what, "first bytes");
  EXPECT_EQ(report.bad.back().reason, "Input/output error");
}

TEST(Verify, StopsWhenAskedTo) {
  VerifyRig rig(3);
  int calls = 0;
  const Result<VerifyReport> stopped = rig.verify(*rig.device, nullptr, [&](const VerifyProgress&) { return ++calls < 5; });
  ASSERT_FALSE(stopped.ok());
  EXPECT_EQ(stopped.error().code, Errc::Cancelled);
  EXPECT_EQ(calls, 5);
}

TEST(Sums, PathTellsModelsApart) {
  EXPECT_NE(sumsPath("/state", "/a/model"), sumsPath("/state", "/b/model"));
  EXPECT_EQ(sumsPath("/state", "/a/x/../model"), sumsPath("/state", "/a/model"));
  EXPECT_EQ(sumsPath("/state", "/a/model").parent_path(), "/state");
}

}  // namespace
}  // namespace sluice
