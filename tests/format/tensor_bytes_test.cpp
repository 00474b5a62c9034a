// Goal:   a layout's bytes come back as they lie, its vectors and scales as the floats they stand for, and from the very file that was checked.

#include "core/format/tensor_bytes.h"

#include <cmath>
#include <cstring>

#include <gtest/gtest.h>

#include "core/format/quant_format.h"
#include "tests/support/safetensors_writer.h"
#include "tests/support/temp_dir.h"

namespace sluice {
namespace {

std::string bytesOfWords(const std::vector<std::uint16_t>& words) {
  std::string out;
  for (const std::uint16_t word : words) {
    out += char(word & 0xff);
    out += char(word >> 8);
  }
  return out;
}

std::string bytesOfFloats(const std::vector<float>& values) {
  std::string out(values.size() * 4, '\0');
  std::memcpy(out.data(), values.data(), out.size());
  return out;
}

struct Written {
  TempDir directory;
  SafetensorsWriter writer;
  TensorDirectory tensors() {
    writer.write(directory.path() / "t.safetensors");
    return std::move(TensorDirectory::open(directory.path())).value();
  }
};

TEST(TensorReader, WidensVectorsByTheirFormat) {
  Written written;
  written.writer.tensors["f32"] = {"F32", {2}, bytesOfFloats({1.5f, -3.0f})};
  written.writer.tensors["bf16"] = {"BF16", {2}, bytesOfWords({0x3fc0, 0xc040})};
  written.writer.tensors["f16"] = {"F16", {2}, bytesOfWords({0x3e00, 0xc200})};
  const TensorDirectory directory = written.tensors();
  const auto reader = TensorReader::open(directory.files());
  ASSERT_TRUE(reader.ok()) << reader.error().what;
  for (const char* name : {"f32", "bf16", "f16"}) {
    std::vector<float> values(2);
    ASSERT_TRUE(reader.value().readVector(vectorLayout(directory, name, 2).value(), values).ok());
    EXPECT_EQ(values, (std::vector<float>{1.5f, -3.0f})) << name;
  }
}

TEST(TensorReader, RefusesVectorsAndScalesThatAreNotFinite) {
  Written written;
  written.writer.tensors["v"] = {"F32", {2}, bytesOfFloats({1.0f, NAN})};
  written.writer.tensors["w"] = {"U8", {2, 3}, std::string(6, '\1')};
  written.writer.tensors["w.qs"] = {"F32", {2}, bytesOfFloats({INFINITY, 1.0f})};
  const TensorDirectory directory = written.tensors();
  const auto reader = TensorReader::open(directory.files());
  std::vector<float> values(2);
  EXPECT_EQ(reader.value().readVector(vectorLayout(directory, "v", 2).value(), values).error().code, Errc::Numeric);
  EXPECT_EQ(reader.value().readScales(matrixLayout(directory, "w", 2, 3).value(), values).error().code, Errc::Numeric);
}

TEST(TensorReader, ReadsScalesOfEveryFormat) {
  Written written;
  const std::vector<std::uint64_t> grid = {1, 2};
  for (const char* name : {"a", "b", "c", "d"}) written.writer.add(name, "F8_E4M3", {3, 200}, 600);
  written.writer.tensors["a_scale_inv"] = {"F32", grid, bytesOfFloats({0.5f, 4.0f})};
  written.writer.tensors["b_scale_inv"] = {"BF16", grid, bytesOfWords({0x3f00, 0x4080})};
  written.writer.tensors["c_scale_inv"] = {"F16", grid, bytesOfWords({0x3800, 0x4400})};
  written.writer.tensors["d_scale_inv"] = {"F8_E8M0", grid, std::string("\x7e\x81", 2)};
  const TensorDirectory directory = written.tensors();
  const auto reader = TensorReader::open(directory.files());
  for (const char* name : {"a", "b", "c", "d"}) {
    const MatrixLayout layout = matrixLayout(directory, name, 3, 200).value();
    ASSERT_EQ(scaleCount(layout), 2u);
    std::vector<float> values(2);
    ASSERT_TRUE(reader.value().readScales(layout, values).ok());
    EXPECT_EQ(values, (std::vector<float>{0.5f, 4.0f})) << name;
  }
}

TEST(TensorReader, ReadsTheBytesOfAnExtent) {
  Written written;
  written.writer.tensors["a"] = {"U8", {3}, "abc"};
  written.writer.tensors["b"] = {"U8", {4}, "defg"};
  const TensorDirectory directory = written.tensors();
  const auto reader = TensorReader::open(directory.files());
  std::vector<std::byte> bytes(4);
  ASSERT_TRUE(reader.value().read(directory.find("b")->data, bytes).ok());
  EXPECT_EQ(std::memcmp(bytes.data(), "defg", 4), 0);
}

TEST(TensorReader, NoticesAFileThatWasReplaced) {
  Written written;
  written.writer.add("a", "U8", {3}, 3);
  const TensorDirectory directory = written.tensors();
  ASSERT_TRUE(TensorReader::open(directory.files()).ok());
  const auto path = directory.files()[0].path;
  std::filesystem::rename(path, path.string() + ".old");
  written.writer.write(path);
  const auto replaced = TensorReader::open(directory.files());
  ASSERT_FALSE(replaced.ok());
  EXPECT_EQ(replaced.error().code, Errc::Corrupt);
  EXPECT_NE(replaced.error().what.find("t.safetensors"), std::string::npos) << replaced.error().what;
}

}  // namespace
}  // namespace sluice
