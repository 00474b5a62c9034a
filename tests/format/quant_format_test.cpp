// Goal:   bytes are given the meaning that the container's rules give them, never a guess; what fits nothing is refused by name.
// Method: synthetic tensors of each format and of each ambiguity, with and without stamps.

#include "core/format/quant_format.h"

#include <gtest/gtest.h>

#include "core/format/expert_layout.h"
#include "tests/support/safetensors_writer.h"
#include "tests/support/temp_dir.h"

namespace sluice {
namespace {

/// A directory of one file with one matrix "w" and what belongs to it.
struct OneMatrix {
  TempDir directory;
  SafetensorsWriter writer;

  void weights(const std::string& dtype, std::vector<std::uint64_t> shape, std::uint64_t bytes) { writer.add("w", dtype, std::move(shape), bytes); }
  void scales(std::uint64_t count, const std::string& suffix = ".qs", const std::string& dtype = "F32", std::uint64_t size = 4) {
    writer.add("w" + suffix, dtype, {count}, count * size);
  }
  void stamp(const std::string& format) { writer.stamps["w"] = format; }
  TensorDirectory open() {
    writer.write(directory.path() / "one.safetensors");
    auto opened = TensorDirectory::open(directory.path());
    EXPECT_TRUE(opened.ok()) << opened.error().what;
    return std::move(opened).value();
  }
  Result<MatrixLayout> layout(int rows, int cols) { return matrixLayout(open(), "w", rows, cols); }
};

struct PackedCase {
  const char* name;
  int rows, cols;
  std::uint64_t bytes, scales;
  const char* stamp;  // null: none
  const char* want;   // formatName, or part of the error after '!'
};

class PackedBytes : public testing::TestWithParam<PackedCase> {};

TEST_P(PackedBytes, MeanWhatTheRulesSay) {
  const PackedCase& c = GetParam();
  OneMatrix one;
  one.weights("U8", {c.bytes}, c.bytes);
  one.scales(c.scales);
  if (c.stamp != nullptr) one.stamp(c.stamp);
  const auto got = one.layout(c.rows, c.cols);
  if (c.want[0] == '!') {
    ASSERT_FALSE(got.ok()) << formatName(got.value());
    EXPECT_NE(got.error().what.find(c.want + 1), std::string::npos) << got.error().what;
    EXPECT_NE(got.error().what.find("'w'"), std::string::npos) << got.error().what;
    return;
  }
  ASSERT_TRUE(got.ok()) << got.error().what;
  EXPECT_EQ(formatName(got.value()), c.want);
  EXPECT_EQ(got.value().rows, c.rows);
  EXPECT_EQ(got.value().cols, c.cols);
  EXPECT_EQ(got.value().data.bytes, c.bytes);
  EXPECT_EQ(got.value().scales.bytes, c.scales * 4);
  EXPECT_EQ(got.value().scale_format, ScaleFormat::F32);
}

std::string nameOf(const testing::TestParamInfo<PackedCase>& test) { return test.param.name; }

// Byte counts are written out from the container's definition: int8 O*I, int4 O*ceil(I/2), int2 O*ceil(I/4), int3 O*ceil(I/64)*24, e8 O*ceil(I/256)*98.
INSTANTIATE_TEST_SUITE_P(
    Formats, PackedBytes,
    testing::Values(
        PackedCase{"int8_row", 5, 72, 360, 5, nullptr, "int8-row"}, PackedCase{"int4_row", 5, 72, 180, 5, nullptr, "int4-row"},
        PackedCase{"int4_row_odd", 5, 71, 180, 5, nullptr, "int4-row"}, PackedCase{"int2_row", 5, 72, 90, 5, nullptr, "int2-row"},
        PackedCase{"int2_row_odd", 5, 69, 90, 5, nullptr, "int2-row"}, PackedCase{"int4_g64", 5, 192, 480, 15, nullptr, "int4-g64"},
        PackedCase{"int4_g64_partial", 5, 130, 325, 15, nullptr, "int4-g48"}, PackedCase{"int4_g16", 5, 72, 180, 25, nullptr, "int4-g16"},
        PackedCase{"int4_g32", 5, 72, 180, 15, nullptr, "int4-g32"}, PackedCase{"int4_g96", 5, 288, 720, 15, nullptr, "int4-g96"},
        PackedCase{"int4_g128", 5, 512, 1280, 20, nullptr, "int4-g128"}, PackedCase{"int4_g192", 5, 384, 960, 10, nullptr, "int4-g192"},
        PackedCase{"int4_g256", 5, 512, 1280, 10, nullptr, "int4-g256"}, PackedCase{"int3_g64", 5, 72, 240, 10, nullptr, "int3-g64"},
        PackedCase{"int3_one_group", 5, 40, 120, 5, nullptr, "int3-g64"}, PackedCase{"fp8_blocks", 300, 200, 60000, 6, nullptr, "fp8-128x128"}),
    nameOf);

INSTANTIATE_TEST_SUITE_P(
    Ambiguities, PackedBytes,
    testing::Values(
        // As many blocks of 128 x 128 as rows: 3 rows, 384 columns. Unstamped it is int8.
        PackedCase{"int8_or_fp8", 3, 384, 1152, 3, nullptr, "int8-row"}, PackedCase{"int8_or_fp8_stamped_int8", 3, 384, 1152, 3, "int8-row", "int8-row"},
        PackedCase{"int8_or_fp8_stamped_fp8", 3, 384, 1152, 3, "fp8-e4m3-b128", "fp8-128x128"},
        // GLM-5.2's o_proj [6144, 16384]: 48 * 128 blocks are as many as its rows.
        PackedCase{"o_proj_in_small", 1, 128, 128, 1, nullptr, "int8-row"},
        // Four times as many rows as blocks: int8 with f32 scales, whatever a byte count of block exponents would be.
        PackedCase{"weights_proj", 4, 2048, 8192, 4, nullptr, "int8-row"},
        // 48 columns: int4 and int3 have 24 bytes a row and one scale. Formats with a scale a row win.
        PackedCase{"int4_or_int3", 5, 48, 120, 5, nullptr, "int4-row"}, PackedCase{"int4_or_int3_stamped", 5, 48, 120, 5, "int3-g64", "int3-g64"},
        PackedCase{"int4_or_int3_two_groups", 5, 96, 240, 10, nullptr, "int4-g48"},
        PackedCase{"int4_or_int3_two_groups_stamped", 5, 96, 240, 10, "int3-g64", "int3-g64"},
        PackedCase{"int8_or_int3", 5, 24, 120, 5, nullptr, "int8-row"}, PackedCase{"int8_or_int3_stamped", 5, 24, 120, 5, "int3-g64", "int3-g64"},
        PackedCase{"int8_or_int4_one_column", 5, 1, 5, 5, nullptr, "int8-row"}, PackedCase{"int4_or_int2_two_columns", 5, 2, 5, 5, nullptr, "int4-row"},
        PackedCase{"int4_or_int2_stamped", 5, 2, 5, 5, "int2-row", "int2-row"},
        // One group that spans the row is a scale a row.
        PackedCase{"grouped_in_one", 5, 24, 60, 5, "int4-grouped", "int4-row"}, PackedCase{"row_stamp", 5, 72, 180, 5, "int4-row", "int4-row"}),
    nameOf);

INSTANTIATE_TEST_SUITE_P(
    Refusals, PackedBytes,
    testing::Values(
        PackedCase{"stamp_against_bytes", 5, 72, 360, 5, "int4-row", "!is stamped int4-row, but its 360 bytes and 5 scales for [5, 72] are those of int8-row"},
        PackedCase{"stamp_against_scales", 5, 72, 180, 15, "int4-row", "!is stamped int4-row"},
        PackedCase{"stamp_grouped_of_int8", 5, 72, 360, 5, "int4-grouped", "!is stamped int4-grouped"},
        PackedCase{"stamp_of_nothing_known", 5, 72, 360, 5, "int7-row", "!'int7-row', a format that is not known"},
        PackedCase{"stamp_and_bytes_of_nothing", 5, 72, 361, 5, "int8-row", "!fit no format"},
        PackedCase{"stamp_e8", 5, 256, 490, 1, "e8-iq3-lattice", "!e8-iq3-lattice (fmt 6), which is not read yet"},
        PackedCase{"e8_by_tag", 5, 256, 490, 1, nullptr, "!e8-iq3-lattice (fmt 6), which is not read yet"},
        PackedCase{"stamp_mxfp4", 5, 64, 160, 10, "mxfp4", "!mxfp4 (fmt 7), which is not read yet"},
        PackedCase{"stamp_rans", 5, 64, 100, 5, "int4-rans256-g0", "!int4-rans256-g0, which is not read yet"},
        PackedCase{"one_byte_short", 5, 72, 359, 5, nullptr, "!has 359 bytes and 5 scales, which fits no format for [5, 72]"},
        PackedCase{"one_byte_long", 5, 72, 181, 5, nullptr, "!fits no format"}, PackedCase{"one_scale_short", 5, 72, 360, 4, nullptr, "!fits no format"},
        PackedCase{"one_scale_long", 5, 72, 360, 6, nullptr, "!fits no format"}, PackedCase{"group_of_no_list", 5, 80, 200, 10 * 5, nullptr, "!fits no format"},
        PackedCase{"int3_without_groups", 5, 72, 240, 5, nullptr, "!fits no format"}, PackedCase{"int2_grouped", 5, 128, 160, 10, nullptr, "!fits no format"},
        PackedCase{"rows_for_columns", 72, 5, 360, 5, nullptr, "!fits no format"}, PackedCase{"no_bytes", 5, 72, 0, 5, nullptr, "!fits no format"},
        PackedCase{"no_scales", 5, 72, 360, 0, nullptr, "!fits no format"}),
    nameOf);

TEST(PackedBytes, NameTheFormatsThatTheyCouldBeToo_UnlessAStampDecides) {
  OneMatrix one;
  one.weights("U8", {1152}, 1152);
  one.scales(3);
  EXPECT_EQ(rivalFormats(one.open(), "w", 3, 384), std::vector<std::string>{"fp8-e4m3-b128"});
  one.stamp("int8-row");
  EXPECT_TRUE(rivalFormats(one.open(), "w", 3, 384).empty());
  OneMatrix plain;
  plain.weights("U8", {360}, 360);
  plain.scales(5);
  EXPECT_TRUE(rivalFormats(plain.open(), "w", 5, 72).empty());
  EXPECT_TRUE(rivalFormats(plain.open(), "none", 5, 72).empty());
}

TEST(PackedBytes, OfTwoDimensionsMustBeTheMatrix_AsElementsOrAsBytes) {
  for (const auto& shape : std::vector<std::vector<std::uint64_t>>{{180}, {5, 72}, {5, 36}, {1000}}) {  // U8 shapes need not count their bytes
    OneMatrix one;
    one.weights("U8", shape, 180);
    one.scales(5);
    EXPECT_TRUE(one.layout(5, 72).ok());
  }
  for (const auto& shape : std::vector<std::vector<std::uint64_t>>{{72, 5}, {36, 5}, {1, 180}, {5, 36, 1}, {}}) {
    OneMatrix one;
    one.weights("U8", shape, 180);
    one.scales(5);
    const auto got = one.layout(5, 72);
    ASSERT_FALSE(got.ok());
    EXPECT_NE(got.error().what.find("has shape"), std::string::npos) << got.error().what;
  }
}

TEST(PackedBytes, TakeSignedBytesAndScalesOfTwoDimensions) {
  OneMatrix one;
  one.weights("I8", {5, 72}, 360);
  one.writer.add("w.qs", "F32", {5, 1}, 20);
  ASSERT_TRUE(one.layout(5, 72).ok());
  EXPECT_EQ(formatName(one.layout(5, 72).value()), "int8-row");
  one.weights("U8", {180}, 180);
  one.writer.add("w.qs", "F32", {5, 3}, 60);
  EXPECT_EQ(formatName(one.layout(5, 72).value()), "int4-g32");
  one.writer.add("w.qs", "F32", {3, 5}, 60);  // the control: the same scales the other way round
  EXPECT_FALSE(one.layout(5, 72).ok());
}

TEST(PackedBytes, ReadFp8WithExponentsAsScales) {
  OneMatrix one;
  one.weights("U8", {300, 200}, 60000);
  one.scales(6, ".qs", "F8_E8M0", 1);
  const auto got = one.layout(300, 200);
  ASSERT_TRUE(got.ok()) << got.error().what;
  EXPECT_EQ(formatName(got.value()), "fp8-128x128");
  EXPECT_EQ(got.value().scale_format, ScaleFormat::E8m0);
  EXPECT_EQ(got.value().scales.bytes, 6u);
}

TEST(PackedBytes, AreNeverCodesWhenTheirDtypeIsFp8) {
  OneMatrix one;
  one.weights("F8_E4M3", {3, 384}, 1152);
  one.scales(3);
  EXPECT_EQ(formatName(one.layout(3, 384).value()), "fp8-128x128");
}

TEST(PackedBytes, WithUnitScalesOf32AreMxfp4_RefusedByName) {
  OneMatrix one;
  one.weights("U8", {160}, 160);
  one.scales(10, ".qs", "U8", 1);
  const auto got = one.layout(5, 64);
  ASSERT_FALSE(got.ok());
  EXPECT_EQ(got.error().code, Errc::Unsupported);
  EXPECT_NE(got.error().what.find("mxfp4 (fmt 7)"), std::string::npos) << got.error().what;
}

TEST(PackedBytes, WithoutTheirScalesNameThem) {
  OneMatrix one;
  one.weights("U8", {360}, 360);
  EXPECT_EQ(missingPart(one.open(), "w"), "w.qs");
  const auto got = one.layout(5, 72);
  ASSERT_FALSE(got.ok());
  EXPECT_EQ(got.error().code, Errc::NotFound);
  EXPECT_NE(got.error().what.find("w.qs"), std::string::npos);
}

TEST(FloatMatrix, StaysWhatItIs_AndHasTheConfigsShape) {
  for (const auto& [dtype, size, name] : {std::tuple("F32", 4, "f32"), std::tuple("BF16", 2, "bf16"), std::tuple("F16", 2, "f16")}) {
    OneMatrix one;
    one.weights(dtype, {5, 72}, std::uint64_t(360 * size));
    const auto got = one.layout(5, 72);
    ASSERT_TRUE(got.ok()) << got.error().what;
    EXPECT_EQ(formatName(got.value()), name);
    EXPECT_EQ(got.value().scale_format, ScaleFormat::None);
    const auto swapped = one.layout(72, 5);
    ASSERT_FALSE(swapped.ok());
    EXPECT_EQ(swapped.error().code, Errc::Corrupt);
    EXPECT_NE(swapped.error().what.find("has shape [5, 72], the config asks for [72, 5]"), std::string::npos) << swapped.error().what;
  }
}

TEST(FloatMatrix, RefusesScalesAndStampsOfCodes) {
  OneMatrix scaled;
  scaled.weights("BF16", {5, 72}, 720);
  scaled.scales(5);
  EXPECT_FALSE(scaled.layout(5, 72).ok());
  OneMatrix grid;
  grid.weights("BF16", {5, 72}, 720);
  grid.scales(5, "_scale_inv");
  EXPECT_FALSE(grid.layout(5, 72).ok());
  OneMatrix stamped;
  stamped.weights("BF16", {5, 72}, 720);
  stamped.stamp("int8-row");
  EXPECT_FALSE(stamped.layout(5, 72).ok());
  stamped.stamp("bf16");  // the control
  EXPECT_TRUE(stamped.layout(5, 72).ok());
}

TEST(FloatMatrix, OfADtypeThatIsNotReadIsRefusedByName) {
  for (const auto& [dtype, size] : {std::pair("F64", 8), std::pair("I64", 8), std::pair("F8_E5M2", 1), std::pair("F8_E8M0", 1), std::pair("I32", 4)}) {
    OneMatrix one;
    one.weights(dtype, {5, 72}, std::uint64_t(360 * size));
    const auto got = one.layout(5, 72);
    ASSERT_FALSE(got.ok()) << dtype;
    EXPECT_EQ(got.error().code, Errc::Unsupported);
    EXPECT_NE(got.error().what.find(dtype), std::string::npos) << got.error().what;
  }
}

struct Fp8Case {
  const char* name;
  int rows, cols;
  const char* suffix;
  const char* dtype;
  std::uint64_t size;
  std::vector<std::uint64_t> grid;
  int block_rows, block_cols;  // 0: refused
};

class Fp8Grid : public testing::TestWithParam<Fp8Case> {};

TEST_P(Fp8Grid, SaysItsBlocks) {
  const Fp8Case& c = GetParam();
  OneMatrix one;
  one.weights("F8_E4M3", {std::uint64_t(c.rows), std::uint64_t(c.cols)}, std::uint64_t(c.rows) * std::uint64_t(c.cols));
  std::uint64_t count = 1;
  for (const std::uint64_t n : c.grid) count *= n;
  one.writer.add(std::string("w") + c.suffix, c.dtype, c.grid, count * c.size);
  const auto got = one.layout(c.rows, c.cols);
  if (c.block_rows == 0) {
    ASSERT_FALSE(got.ok()) << formatName(got.value());
    EXPECT_NE(got.error().what.find(std::string("w") + c.suffix), std::string::npos) << got.error().what;
    return;
  }
  ASSERT_TRUE(got.ok()) << got.error().what;
  EXPECT_EQ(got.value().format, WeightFormat::Fp8);
  EXPECT_EQ(got.value().block_rows, c.block_rows);
  EXPECT_EQ(got.value().block_cols, c.block_cols);
  EXPECT_EQ(got.value().scales.bytes, count * c.size);
}

INSTANTIATE_TEST_SUITE_P(
    Grids, Fp8Grid,
    testing::Values(Fp8Case{"kv_a_576_rows", 576, 256, "_scale_inv", "F32", 4, {5, 2}, 128, 128}, Fp8Case{"less_than_a_block", 16, 100, "_scale_inv", "F32", 4, {1, 1}, 128, 128},
                    Fp8Case{"bf16_scales", 300, 200, "_scale_inv", "BF16", 2, {3, 2}, 128, 128}, Fp8Case{"f16_scales", 300, 200, "_scale_inv", "F16", 2, {3, 2}, 128, 128},
                    Fp8Case{"e8m0_scales", 300, 200, "_scale_inv", "F8_E8M0", 1, {3, 2}, 128, 128}, Fp8Case{"other_suffix", 300, 200, "_scale", "F32", 4, {3, 2}, 128, 128},
                    Fp8Case{"blocks_of_64", 300, 200, "_scale_inv", "F32", 4, {5, 4}, 64, 64}, Fp8Case{"blocks_of_32", 300, 200, "_scale_inv", "F32", 4, {10, 7}, 32, 32},
                    Fp8Case{"blocks_of_256", 600, 600, "_scale_inv", "F32", 4, {3, 3}, 256, 256}, Fp8Case{"row_groups", 300, 256, "_scale_inv", "F32", 4, {300, 2}, 1, 128},
                    Fp8Case{"per_row", 300, 200, "_scale", "F32", 4, {300}, 1, 200}, Fp8Case{"per_row_2d", 300, 200, "_scale", "F32", 4, {300, 1}, 1, 200},
                    Fp8Case{"per_tensor", 300, 200, "_scale", "F32", 4, {1}, 300, 200}, Fp8Case{"per_tensor_scalar", 300, 200, "_scale", "F32", 4, {}, 300, 200},
                    Fp8Case{"floored_rows", 576, 256, "_scale_inv", "F32", 4, {4, 2}, 0, 0}, Fp8Case{"floored_to_one", 200, 256, "_scale_inv", "F32", 4, {1, 2}, 0, 0},
                    Fp8Case{"blocks_wider_than_the_rows", 200, 600, "_scale_inv", "F32", 4, {1, 3}, 200, 256}, Fp8Case{"transposed_grid", 384, 128, "_scale_inv", "F32", 4, {1, 3}, 0, 0},
                    Fp8Case{"too_many_rows", 300, 200, "_scale_inv", "F32", 4, {301, 2}, 0, 0}, Fp8Case{"no_cells", 300, 200, "_scale_inv", "F32", 4, {0, 2}, 0, 0},
                    Fp8Case{"three_dimensions", 300, 200, "_scale_inv", "F32", 4, {3, 2, 1}, 0, 0}, Fp8Case{"grid_in_one_dimension", 300, 200, "_scale_inv", "F32", 4, {6}, 0, 0},
                    Fp8Case{"integer_scales", 300, 200, "_scale_inv", "U8", 1, {3, 2}, 0, 0}, Fp8Case{"uneven_cells", 303, 200, "_scale_inv", "F32", 4, {7, 2}, 0, 0}),
    [](const auto& test) { return std::string(test.param.name); });

TEST(Fp8Matrix, WithoutScalesNamesThem) {
  OneMatrix one;
  one.weights("F8_E4M3", {5, 72}, 360);
  EXPECT_EQ(missingPart(one.open(), "w"), "w_scale_inv");
  EXPECT_FALSE(one.layout(5, 72).ok());
}

TEST(FloatVector, IsF32Bf16OrF16OfItsLength) {
  OneMatrix one;
  one.writer.add("v", "BF16", {7}, 14);
  one.writer.add("codes", "U8", {7}, 7);
  one.writer.add("square", "F32", {1, 7}, 28);
  const TensorDirectory directory = one.open();
  ASSERT_TRUE(vectorLayout(directory, "v", 7).ok());
  EXPECT_EQ(vectorLayout(directory, "v", 7).value().format, WeightFormat::Bf16);
  EXPECT_FALSE(vectorLayout(directory, "v", 8).ok());
  EXPECT_FALSE(vectorLayout(directory, "codes", 7).ok());
  EXPECT_FALSE(vectorLayout(directory, "square", 7).ok());
  EXPECT_EQ(vectorLayout(directory, "none", 7).error().code, Errc::NotFound);
}

TEST(FusedExperts, LieGateRowsFirst_OneBehindAnother) {
  OneMatrix one;
  one.writer.add("x.gate_up_proj", "BF16", {3, 8, 6}, 3 * 8 * 6 * 2);
  one.writer.add("x.down_proj", "BF16", {3, 6, 4}, 3 * 6 * 4 * 2);
  const TensorDirectory directory = one.open();
  const auto got = fusedExperts(directory, {"x."}, 3, 4, 6);
  ASSERT_TRUE(got.ok()) << got.error().what;
  const std::uint64_t gate_up = directory.find("x.gate_up_proj")->data.offset, down = directory.find("x.down_proj")->data.offset;
  for (int expert = 0; expert < 3; ++expert) {
    const ExpertLayout& layout = got.value()[std::size_t(expert)];
    EXPECT_EQ(layout.gate.data.offset, gate_up + std::uint64_t(expert) * 96);
    EXPECT_EQ(layout.up.data.offset, gate_up + std::uint64_t(expert) * 96 + 48);
    EXPECT_EQ(layout.down.data.offset, down + std::uint64_t(expert) * 48);
    EXPECT_EQ(layout.gate.data.bytes, 48u);
    EXPECT_EQ(layout.down.data.bytes, 48u);
    EXPECT_EQ(layout.up.rows, 4);
    EXPECT_EQ(layout.down.cols, 4);
  }
  EXPECT_FALSE(fusedExperts(directory, {"x."}, 4, 4, 6).ok());
  EXPECT_FALSE(fusedExperts(directory, {"x."}, 3, 6, 4).ok());
}

TEST(FusedExperts, OfFp8CutTheirScalesToo_OrAreRefusedWhereABlockStraddlesTheCut) {
  OneMatrix one;
  one.writer.add("x.gate_up_proj", "F8_E4M3", {2, 512, 130}, 2 * 512 * 130);
  one.writer.add("x.gate_up_proj_scale_inv", "F32", {2, 4, 2}, 2 * 4 * 2 * 4);
  one.writer.add("x.down_proj", "F8_E4M3", {2, 130, 256}, 2 * 130 * 256);
  one.writer.add("x.down_proj_scale_inv", "F32", {2, 2, 2}, 2 * 2 * 2 * 4);
  const TensorDirectory directory = one.open();
  const auto got = fusedExperts(directory, {"x."}, 2, 256, 130);
  ASSERT_TRUE(got.ok()) << got.error().what;
  const std::uint64_t scales = directory.find("x.gate_up_proj_scale_inv")->data.offset;
  const ExpertLayout& second = got.value()[1];
  EXPECT_EQ(second.gate.scales.offset, scales + 32);
  EXPECT_EQ(second.up.scales.offset, scales + 48);
  EXPECT_EQ(second.up.scales.bytes, 16u);
  EXPECT_EQ(second.up.block_rows, 128);
  EXPECT_EQ(second.down.scales.bytes, 16u);

  OneMatrix straddling;
  straddling.writer.add("x.gate_up_proj", "F8_E4M3", {2, 384, 130}, 2 * 384 * 130);
  straddling.writer.add("x.gate_up_proj_scale_inv", "F32", {2, 3, 2}, 2 * 3 * 2 * 4);
  straddling.writer.add("x.down_proj", "F8_E4M3", {2, 130, 192}, 2 * 130 * 192);
  straddling.writer.add("x.down_proj_scale_inv", "F32", {2, 2, 2}, 2 * 2 * 2 * 4);
  const auto refused = fusedExperts(straddling.open(), {"x."}, 2, 192, 130);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, Errc::Unsupported);
  EXPECT_NE(refused.error().what.find("straddle"), std::string::npos) << refused.error().what;
}

}  // namespace
}  // namespace sluice
