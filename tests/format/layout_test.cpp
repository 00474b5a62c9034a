// Goal:   every model whose answers are known is found whole, with the formats that its makers gave it and not a byte unaccounted for.
// Method: byte counts a role from tests/golden/format/roles.json, which roles_oracle.py computed from the headers without the engine; formats a
//         role as tests/models/README.md says how they were made.

#include "core/model/layout.h"

#include <algorithm>
#include <fstream>
#include <map>
#include <set>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "core/base/file.h"
#include "core/format/quant_format.h"
#include "core/model/inspect.h"

namespace sluice {
namespace {

const std::filesystem::path kData = SLUICE_TEST_DATA;

struct KnownModel {
  const char* name;
  const char* experts;  // format of the routed experts
  const char* attention;
  const char* embedding;
  const char* mtp_experts;
  std::set<std::string> warnings;
};

const std::vector<KnownModel>& knownModels() {
  static const std::vector<KnownModel> models = {
      {"glm", "bf16", "bf16", "bf16", "bf16", {}},
      {"glm-sharded-f32", "f32", "f32", "f32", "f32", {}},
      {"glm-fused", "bf16", "bf16", "bf16", "bf16", {}},
      {"glm-wide", "bf16", "bf16", "bf16", "bf16", {}},
      {"glm-fp8", "fp8-128x128", "fp8-128x128", "bf16", "fp8-128x128", {}},
      {"coli-f32", "f32", "f32", "f32", "f32", {}},
      {"coli-bf16", "bf16", "bf16", "bf16", "bf16", {}},
      {"coli-i8", "int8-row", "int8-row", "int8-row", "int8-row", {}},
      {"coli-i4", "int4-row", "int4-row", "int8-row", "int8-row", {"per_row_int4"}},
      {"coli-i4g64", "int4-g64", "int4-g64", "int8-row", "int8-row", {}},
      {"coli-i4g32-stamped", "int4-g32", "int4-g32", "int8-row", "int4-g32", {"mtp_int4"}},
      {"coli-i3", "int3-g64", "int3-g64", "int8-row", "int8-row", {}},
      {"coli-i2", "int2-row", "int8-row", "int8-row", "int8-row", {"format_ambiguous"}},
      {"coli-fp8b", "fp8-128x128", "fp8-128x128", "int8-row", "fp8-128x128", {}},
      {"coli-mixed", "int2-row", "int4-g32", "bf16", "int8-row", {}},
      {"nano-gs64", "int4-g64", "int4-g64", "int8-row", "int8-row", {}},
      {"nano-starved", "int4-g64", "int4-g64", "int8-row", "int8-row", {}},
  };
  return models;
}

class KnownLayout : public testing::TestWithParam<KnownModel> {};

std::set<std::string> formatsOf(const std::vector<RoleSummary>& roles, const std::string& role) {
  std::set<std::string> out;
  for (const RoleSummary& row : roles)
    if (row.role == role) out.insert(row.format);
  return out;
}

TEST_P(KnownLayout, HasTheFormatsAndBytesOfItsMakers) {
  const KnownModel& model = GetParam();
  const auto opened = openLayout(kData / "models" / model.name);
  ASSERT_TRUE(opened.ok()) << opened.error().what;
  const std::vector<RoleSummary> roles = summariseRoles(opened.value());
  EXPECT_EQ(formatsOf(roles, "experts"), std::set<std::string>{model.experts});
  EXPECT_EQ(formatsOf(roles, "attention"), std::set<std::string>{model.attention});
  EXPECT_EQ(formatsOf(roles, "embedding"), std::set<std::string>{model.embedding});
  EXPECT_EQ(formatsOf(roles, "mtp.experts"), std::set<std::string>{model.mtp_experts});
  std::set<std::string> codes;
  for (const LayoutWarning& warning : opened.value().warnings) codes.insert(warning.code);
  EXPECT_EQ(codes, model.warnings);

  std::map<std::string, std::uint64_t> bytes;
  for (const RoleSummary& row : roles) bytes[row.role] += row.bytes.count();
  const auto golden = nlohmann::json::parse(std::ifstream(kData / "golden" / "format" / "roles.json")).at(model.name).at("bytes");
  ASSERT_EQ(bytes.size(), golden.size());
  for (const auto& [role, count] : golden.items()) EXPECT_EQ(bytes[role], count.get<std::uint64_t>()) << role;
}

TEST_P(KnownLayout, HasEveryExtentInsideItsFile_AndNoneTwice) {
  const auto opened = openLayout(kData / "models" / GetParam().name);
  ASSERT_TRUE(opened.ok()) << opened.error().what;
  const ModelLayout& layout = opened.value();
  std::vector<std::vector<std::pair<std::uint64_t, std::uint64_t>>> spans(layout.files.size());
  const auto take = [&](const Extent& extent) {
    if (extent.bytes != 0) spans.at(extent.file).push_back({extent.offset, extent.offset + extent.bytes});
  };
  forEachMatrix(layout, [&](std::string_view, const MatrixLayout& matrix) {
    EXPECT_EQ(matrix.data.bytes, std::uint64_t(matrix.rows) * rowBytes(matrix.format, std::uint64_t(matrix.cols)));
    take(matrix.data);
    take(matrix.scales);
  });
  for (std::size_t file = 0; file < spans.size(); ++file) {
    std::sort(spans[file].begin(), spans[file].end());
    std::uint64_t end = 0;
    for (const auto& [begin, stop] : spans[file]) {
      EXPECT_GE(begin, end);
      end = stop;
    }
    EXPECT_LE(end, layout.files[file].size);
  }
}

TEST_P(KnownLayout, RecordsWhatItsFilesWere) {
  const auto opened = openLayout(kData / "models" / GetParam().name);
  ASSERT_TRUE(opened.ok()) << opened.error().what;
  for (const ModelFile& file : opened.value().files) {
    const auto now = identityAt(file.path);
    ASSERT_TRUE(now.ok());
    EXPECT_EQ(now.value(), (FileIdentity{file.size, file.device, file.inode, file.modified_ns}));
  }
}

INSTANTIATE_TEST_SUITE_P(Models, KnownLayout, testing::ValuesIn(knownModels()), [](const auto& test) {
  std::string name = test.param.name;
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
});

TEST(Layout, OfMixedContainerGivesEachRoleItsOwnFormat) {
  const auto opened = openLayout(kData / "models" / "coli-mixed");
  ASSERT_TRUE(opened.ok()) << opened.error().what;
  const std::vector<RoleSummary> roles = summariseRoles(opened.value());
  for (const auto& [role, format] : std::map<std::string, std::string>{{"kv_b", "bf16"}, {"o", "int3-g64"}, {"dense", "int4-g16"}, {"shared", "int8-row"},
                                                                       {"indexer", "int8-row"}, {"router", "f32"}, {"head", "bf16"}, {"norms", "f32"}, {"mtp.eh_proj", "int8-row"}})
    EXPECT_EQ(formatsOf(roles, role), std::set<std::string>{format}) << role;
}

TEST(Layout, ShapesFollowTheConfig) {
  const auto opened = openLayout(kData / "models" / "glm-wide");
  ASSERT_TRUE(opened.ok()) << opened.error().what;
  const ModelLayout& layout = opened.value();
  ASSERT_EQ(layout.layers.size(), 6u);
  const LayerLayout& layer = layout.layers[3];
  EXPECT_EQ(layer.attention.q_b.rows, 4 * 20);
  EXPECT_EQ(layer.attention.kv_a.rows, 64 + 8);
  EXPECT_EQ(layer.attention.kv_b.rows, 4 * (12 + 32));
  EXPECT_EQ(layer.attention.o.cols, 4 * 32);
  EXPECT_EQ(layer.shared->gate.rows, 2 * 64);
  EXPECT_EQ(layer.experts.size(), 8u);
  EXPECT_EQ(layer.router.rows, 8);
  EXPECT_TRUE(layer.attention.indexer.has_value());
  EXPECT_TRUE(layout.layers[0].dense.has_value());
  ASSERT_TRUE(layout.mtp.has_value());
  EXPECT_EQ(layout.mtp->eh_proj.cols, 2 * 128);
  EXPECT_TRUE(layout.config.has_mtp);
}

TEST(Layout, OfAnotherPlaceSaysWhatIsWrong) {
  for (const auto& [path, part] : std::vector<std::pair<std::filesystem::path, const char*>>{
           {kData / "models" / "none", "no model directory"}, {kData / "models", "holds no config.json"}, {kData / "models" / "glm" / "config.json", "is not a directory"}}) {
    const auto opened = openLayout(path);
    ASSERT_FALSE(opened.ok());
    EXPECT_EQ(opened.error().code, Errc::NotFound);
    EXPECT_NE(opened.error().what.find(part), std::string::npos) << opened.error().what;
  }
}

}  // namespace
}  // namespace sluice
