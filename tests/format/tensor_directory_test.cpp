// Goal:   a directory is the sum of its files: nothing counted twice, nothing that the index promises left out.

#include "core/format/tensor_directory.h"

#include <gtest/gtest.h>

#include "tests/support/safetensors_writer.h"
#include "tests/support/temp_dir.h"

namespace sluice {
namespace {

void writeOne(const std::filesystem::path& path, const std::string& tensor, const std::string& stamp = {}) {
  SafetensorsWriter writer;
  writer.add(tensor, "F32", {2}, 8);
  if (!stamp.empty()) writer.stamps["shared.name"] = stamp;
  writer.write(path);
}

std::string faultOf(const Result<TensorDirectory>& result) { return result.ok() ? "(no error)" : result.error().what; }

TEST(TensorDirectory, FindsTensorsOfAllFiles_InOrderOfTheirNames) {
  const TempDir directory;
  writeOne(directory.path() / "b.safetensors", "second", "int8-row");
  writeOne(directory.path() / "a.safetensors", "first");
  writeBytes(directory.path() / "._a.safetensors", "litter");
  writeBytes(directory.path() / "notes.txt", "not weights");
  const auto got = TensorDirectory::open(directory.path());
  ASSERT_TRUE(got.ok()) << got.error().what;
  ASSERT_EQ(got.value().files().size(), 2u);
  EXPECT_EQ(got.value().files()[0].path.filename(), "a.safetensors");
  ASSERT_NE(got.value().find("second"), nullptr);
  EXPECT_EQ(got.value().find("second")->data.file, 1u);
  EXPECT_EQ(got.value().find("third"), nullptr);
  EXPECT_EQ(got.value().stampOf("shared.name"), "int8-row");
  EXPECT_EQ(got.value().stampOf("first"), "");
}

TEST(TensorDirectory, RefusesATensorInTwoFiles_NamingBoth) {
  const TempDir directory;
  writeOne(directory.path() / "a.safetensors", "same");
  writeOne(directory.path() / "b.safetensors", "same");
  const std::string fault = faultOf(TensorDirectory::open(directory.path()));
  for (const char* part : {"'same'", "a.safetensors", "b.safetensors"}) EXPECT_NE(fault.find(part), std::string::npos) << fault;
}

TEST(TensorDirectory, RefusesStampsThatDisagree) {
  const TempDir directory;
  writeOne(directory.path() / "a.safetensors", "first", "int8-row");
  writeOne(directory.path() / "b.safetensors", "second", "int4-row");
  EXPECT_NE(faultOf(TensorDirectory::open(directory.path())).find("another file stamps it as int8-row"), std::string::npos);
}

TEST(TensorDirectory, SaysWhatADirectoryWithoutWeightsIs) {
  const TempDir directory;
  EXPECT_EQ(TensorDirectory::open(directory.path() / "none").error().code, Errc::NotFound);
  EXPECT_NE(faultOf(TensorDirectory::open(directory.path())).find("no *.safetensors file"), std::string::npos);
  writeBytes(directory.path() / "model.gguf", "GGUF");
  EXPECT_NE(faultOf(TensorDirectory::open(directory.path())).find("GGUF"), std::string::npos);
  EXPECT_NE(faultOf(TensorDirectory::open(directory.path() / "model.gguf")).find("is not a directory"), std::string::npos);
}

TEST(TensorDirectory, NamesTheFileThatIsBroken) {
  const TempDir directory;
  writeOne(directory.path() / "a.safetensors", "first");
  writeBytes(directory.path() / "b.safetensors", "<html>not found</html>");
  const auto got = TensorDirectory::open(directory.path());
  ASSERT_FALSE(got.ok());
  EXPECT_EQ(got.error().code, Errc::Corrupt);
  EXPECT_NE(got.error().what.find("b.safetensors"), std::string::npos) << got.error().what;
}

TEST(TensorDirectory, HoldsTheIndexToItsWord) {
  const TempDir directory;
  writeOne(directory.path() / "model-00001-of-00003.safetensors", "first");
  writeOne(directory.path() / "model-00003-of-00003.safetensors", "third");
  const auto index = directory.path() / "model.safetensors.index.json";
  const auto with = [&](const std::string& text) {
    writeBytes(index, text);
    return TensorDirectory::open(directory.path());
  };
  const std::string first = R"("first":"model-00001-of-00003.safetensors")";
  const std::string third = R"("third":"model-00003-of-00003.safetensors")";
  ASSERT_TRUE(with(R"({"metadata":{"total_size":16},"weight_map":{)" + first + "," + third + "}}").ok());
  EXPECT_EQ(with(R"({"weight_map":{)" + first + "}}").value().absentShards(), std::vector<std::string>{"model-00002-of-00003.safetensors"});

  const auto shard = with(R"({"weight_map":{"second":"model-00002-of-00003.safetensors",)" + first + "}}");
  ASSERT_FALSE(shard.ok());
  EXPECT_EQ(shard.error().code, Errc::NotFound);
  EXPECT_NE(shard.error().what.find("model-00002-of-00003.safetensors"), std::string::npos) << shard.error().what;
  EXPECT_NE(faultOf(with(R"({"weight_map":{"fourth":"model-00001-of-00003.safetensors"}})")).find("promises tensor 'fourth'"), std::string::npos);
  EXPECT_NE(faultOf(with(R"({"weight_map":{"first":"model-00003-of-00003.safetensors"}})")).find("but it is in"), std::string::npos);
  EXPECT_NE(faultOf(with(R"({"weight_map":{"first":"../model-00001-of-00003.safetensors"}})")).find("not there"), std::string::npos);
  EXPECT_NE(faultOf(with(R"({"weight_map":{"first":7}})")).find("not a string"), std::string::npos);
  EXPECT_NE(faultOf(with(R"({"weight_map":[]})")).find("no weight_map object"), std::string::npos);
  EXPECT_NE(faultOf(with("[]")).find("no weight_map object"), std::string::npos);
  EXPECT_NE(faultOf(with("{")).find("not valid JSON"), std::string::npos);
}

TEST(TensorDirectory, ReadsAtMost512Files) {
  const TempDir directory;
  for (int i = 0; i < 512; ++i) writeOne(directory.path() / fmt::format("f{:03}.safetensors", i), fmt::format("t{}", i));
  EXPECT_TRUE(TensorDirectory::open(directory.path()).ok());
  writeOne(directory.path() / "one_more.safetensors", "more");
  const auto got = TensorDirectory::open(directory.path());
  ASSERT_FALSE(got.ok());
  EXPECT_NE(got.error().what.find("513"), std::string::npos) << got.error().what;
}

}  // namespace
}  // namespace sluice
