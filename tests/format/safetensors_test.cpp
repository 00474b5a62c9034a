// Goal:   no header, however hostile, gets an offset believed that was not proved, and each fault is named.
// Method: a table of headers, each true but for one lie, beside a true one that is read; a small file cut at every byte.

#include "core/format/safetensors.h"

#include <gtest/gtest.h>

#include "tests/support/safetensors_writer.h"
#include "tests/support/temp_dir.h"

namespace sluice {
namespace {

Result<SafetensorsHeader> parse(const std::string& json, std::uint64_t data_bytes) {
  return parseSafetensorsHeader(json, 8 + json.size(), 8 + json.size() + data_bytes, "x.safetensors");
}

std::string nested(int depth) { return std::string(std::size_t(depth), '[') + std::string(std::size_t(depth), ']'); }

struct HeaderCase {
  const char* name;
  std::string json;
  std::uint64_t data_bytes;
  const char* says;  // part of the error's text; null: the header is good
};

std::vector<HeaderCase> headerCases() {
  const std::string a = R"("a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]})";
  std::string many_stamps = "{";
  for (std::size_t i = 0; i <= kStampsMax; ++i) many_stamps += (i == 0 ? "" : ",") + std::string("\\\"t") + std::to_string(i) + "\\\":\\\"int8-row\\\"";
  many_stamps += "}";
  return {
      {"good", "{" + a + "}", 8, nullptr},
      {"good_padded", "{" + a + "}      ", 8, nullptr},
      {"good_empty_object", "{}", 0, nullptr},
      {"good_metadata", R"({"__metadata__":{"format":"pt"},)" + a + "}", 8, nullptr},
      {"good_unknown_field", R"({"a":{"dtype":"F32","note":{"b":[1]},"shape":[2],"data_offsets":[0,8]}})", 8, nullptr},
      {"good_scalar", R"({"a":{"dtype":"F32","shape":[],"data_offsets":[0,4]}})", 4, nullptr},
      {"good_empty_tensor", R"({"a":{"dtype":"F32","shape":[0,7],"data_offsets":[0,0]},"b":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}})", 1, nullptr},
      {"good_u8_any_shape", R"({"a":{"dtype":"U8","shape":[3,5],"data_offsets":[0,8]}})", 8, nullptr},
      {"good_i8_any_shape", R"({"a":{"dtype":"I8","shape":[9],"data_offsets":[0,8]}})", 8, nullptr},
      {"good_strange_dtype", R"({"a":{"dtype":"F64","shape":[2],"data_offsets":[0,16]}})", 16, nullptr},
      {"good_rank_8", R"({"a":{"dtype":"U8","shape":[1,1,1,1,1,1,1,8],"data_offsets":[0,8]}})", 8, nullptr},
      {"good_out_of_order", R"({"b":{"dtype":"F32","shape":[1],"data_offsets":[8,12]},)" + a + "}", 12, nullptr},
      {"good_escaped_name", R"({"\u0061\n":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})", 8, nullptr},
      {"good_stamp", R"({"__metadata__":{"colibri.fmt":"{\"a\":\"int8-row\"}"},)" + a + "}", 8, nullptr},

      {"nothing", "", 0, "not valid JSON"},
      {"blank", "   ", 0, "not valid JSON"},
      {"not_json", "safetensors", 0, "not valid JSON"},
      {"unclosed", "{" + a, 8, "not valid JSON"},
      {"two_documents", "{" + a + "}{}", 8, "not valid JSON"},
      {"trailing_comma", "{" + a + ",}", 8, "not valid JSON"},
      {"bytes_behind", "{" + a + "}x", 8, "not valid JSON"},
      {"bad_utf8", "{\"\xff\xfe\":1}", 0, "not valid JSON"},
      {"unclosed_deep", std::string(100000, '{'), 0, "not valid JSON"},
      {"lone_quote", "{\"a", 0, "not valid JSON"},
      {"zero_bytes", std::string(16, '\0'), 0, "not valid JSON"},
      {"array", "[" + nested(1) + "]", 0, "not an object"},
      {"string", R"("text")", 0, "not an object"},
      {"number", "17", 0, "not an object"},
      {"null", "null", 0, "not an object"},
      {"deep_arrays", nested(100000), 0, "nests deeper"},
      {"deep_objects", [] {
         std::string text;
         for (int i = 0; i < 50000; ++i) text += "{\"a\":";
         return text + "1" + std::string(50000, '}');
       }(), 0, "nests deeper"},
      {"deep_shape", R"({"a":{"dtype":"F32","shape":)" + nested(9) + R"(,"data_offsets":[0,8]}})", 8, "nests deeper"},
      {"deep_unknown_field", R"({"a":{"note":)" + nested(50) + "}}", 0, "nests deeper"},

      {"tensor_is_list", R"({"a":[1,2]})", 0, "not described by an object"},
      {"tensor_is_null", R"({"a":null})", 0, "not described by an object"},
      {"no_dtype", R"({"a":{"shape":[2],"data_offsets":[0,8]}})", 8, "lacks its dtype"},
      {"no_shape", R"({"a":{"dtype":"F32","data_offsets":[0,8]}})", 8, "lacks its shape"},
      {"no_offsets", R"({"a":{"dtype":"F32","shape":[2]}})", 8, "lacks its data_offsets"},
      {"empty_entry", R"({"a":{}})", 0, "lacks its dtype"},
      {"dtype_twice", R"({"a":{"dtype":"F32","dtype":"F16","shape":[2],"data_offsets":[0,8]}})", 8, "has dtype twice"},
      {"shape_twice", R"({"a":{"dtype":"F32","shape":[2],"shape":[2],"data_offsets":[0,8]}})", 8, "has shape twice"},
      {"offsets_twice", R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8],"data_offsets":[0,8]}})", 8, "has data_offsets twice"},
      {"dtype_number", R"({"a":{"dtype":4,"shape":[2],"data_offsets":[0,8]}})", 8, "dtype that is not a string"},
      {"dtype_null", R"({"a":{"dtype":null,"shape":[2],"data_offsets":[0,8]}})", 8, "dtype that is not a string"},
      {"shape_string", R"({"a":{"dtype":"F32","shape":"2","data_offsets":[0,8]}})", 8, "shape that is not a list"},
      {"shape_object", R"({"a":{"dtype":"F32","shape":{"0":2},"data_offsets":[0,8]}})", 8, "shape that is not a list"},
      {"dim_negative", R"({"a":{"dtype":"F32","shape":[-2],"data_offsets":[0,8]}})", 8, "not a whole number"},
      {"dim_fraction", R"({"a":{"dtype":"F32","shape":[2.0],"data_offsets":[0,8]}})", 8, "not a whole number"},
      {"dim_exponent", R"({"a":{"dtype":"F32","shape":[2e0],"data_offsets":[0,8]}})", 8, "not a whole number"},
      {"dim_string", R"({"a":{"dtype":"F32","shape":["2"],"data_offsets":[0,8]}})", 8, "not a whole number"},
      {"dim_beyond_u64", R"({"a":{"dtype":"F32","shape":[18446744073709551616],"data_offsets":[0,8]}})", 8, "valid JSON"},
      {"rank_9", R"({"a":{"dtype":"U8","shape":[1,1,1,1,1,1,1,1,8],"data_offsets":[0,8]}})", 8, "more than 8 dimensions"},
      {"rank_10000", R"({"a":{"dtype":"U8","shape":[)" + [] {
         std::string ones = "1";
         for (int i = 0; i < 9999; ++i) ones += ",1";
         return ones;
       }() + R"(],"data_offsets":[0,8]}})", 8, "more than 8 dimensions"},
      {"elements_overflow", R"({"a":{"dtype":"F32","shape":[4294967296,4294967296],"data_offsets":[0,8]}})", 8, "more elements than can be counted"},
      {"elements_overflow_u8", R"({"a":{"dtype":"U8","shape":[4294967296,4294967296,2],"data_offsets":[0,8]}})", 8, "more elements than can be counted"},
      {"bytes_overflow", R"({"a":{"dtype":"F32","shape":[4611686018427387905],"data_offsets":[0,4]}})", 4, "not 4611686018427387905 times 4"},
      {"f32_short", R"({"a":{"dtype":"F32","shape":[3],"data_offsets":[0,8]}})", 8, "has 8 bytes, not 3 times 4"},
      {"bf16_long", R"({"a":{"dtype":"BF16","shape":[3],"data_offsets":[0,8]}})", 8, "has 8 bytes, not 3 times 2"},
      {"f16_wrong", R"({"a":{"dtype":"F16","shape":[5],"data_offsets":[0,8]}})", 8, "has 8 bytes, not 5 times 2"},
      {"fp8_wrong", R"({"a":{"dtype":"F8_E4M3","shape":[5],"data_offsets":[0,8]}})", 8, "has 8 bytes, not 5 times 1"},
      {"e8m0_wrong", R"({"a":{"dtype":"F8_E8M0","shape":[5],"data_offsets":[0,8]}})", 8, "has 8 bytes, not 5 times 1"},
      {"i64_wrong", R"({"a":{"dtype":"I64","shape":[2],"data_offsets":[0,8]}})", 8, "has 8 bytes, not 2 times 8"},
      {"offsets_one", R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0]}})", 8, "1 data_offsets, not 2"},
      {"offsets_three", R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8,8]}})", 8, "not two whole numbers"},
      {"offsets_string", R"({"a":{"dtype":"F32","shape":[2],"data_offsets":"0,8"}})", 8, "data_offsets that are not a list"},
      {"offsets_negative", R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[-8,0]}})", 8, "not two whole numbers"},
      {"offsets_fraction", R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0.5,8.5]}})", 8, "not two whole numbers"},
      {"offsets_reversed", R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[8,0]}})", 8, "ends before it"},
      {"offsets_beyond_file", R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[4,12]}})", 8, "truncated"},
      {"offsets_huge", R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[18446744073709551608,18446744073709551615]}})", 8, "truncated"},
      {"overlap", "{" + a + R"(,"b":{"dtype":"F32","shape":[2],"data_offsets":[4,12]}})", 12, "inside tensor 'a'"},
      {"same_bytes", "{" + a + R"(,"b":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})", 8, "inside tensor"},
      {"empty_inside", "{" + a + R"(,"b":{"dtype":"F32","shape":[0],"data_offsets":[4,4]}})", 8, "inside tensor 'a'"},
      {"gap", "{" + a + R"(,"b":{"dtype":"F32","shape":[1],"data_offsets":[12,16]}})", 16, "no gap"},
      {"gap_at_begin", R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[4,8]}})", 8, "no gap"},
      {"bytes_behind_last", "{" + a + "}", 9, "1 bytes behind its last tensor"},
      {"data_without_tensors", "{}", 5, "5 bytes behind its last tensor"},
      {"name_twice", "{" + a + R"(,"a":{"dtype":"F32","shape":[2],"data_offsets":[8,16]}})", 16, "in the header twice"},
      {"name_twice_by_escape", "{" + a + R"(,"\u0061":{"dtype":"F32","shape":[2],"data_offsets":[8,16]}})", 16, "in the header twice"},
      {"metadata_list", R"({"__metadata__":[],)" + a + "}", 8, "__metadata__ is not an object"},
      {"metadata_number", R"({"__metadata__":{"format":1},)" + a + "}", 8, "'format' is not a string"},
      {"metadata_nested", R"({"__metadata__":{"format":{}},)" + a + "}", 8, "'format' is not a string"},
      {"metadata_twice", R"({"__metadata__":{},"__metadata__":{},)" + a + "}", 8, "__metadata__ twice"},
      {"metadata_key_twice", R"({"__metadata__":{"f":"1","f":"2"},)" + a + "}", 8, "'f' twice"},
      {"stamp_not_json", R"({"__metadata__":{"colibri.fmt":"int8"},)" + a + "}", 8, "colibri.fmt stamp is not valid JSON"},
      {"stamp_list", R"({"__metadata__":{"colibri.fmt":"[]"},)" + a + "}", 8, "colibri.fmt stamp is not an object"},
      {"stamp_number", R"({"__metadata__":{"colibri.fmt":"{\"a\":1}"},)" + a + "}", 8, "of 'a' is not a string"},
      {"stamp_twice", R"({"__metadata__":{"colibri.fmt":"{\"a\":\"x\",\"a\":\"y\"}"},)" + a + "}", 8, "names 'a' twice"},
      {"stamp_deep", R"({"__metadata__":{"colibri.fmt":")" + nested(5000) + R"("},)" + a + "}", 8, "nests deeper"},
      {"stamps_too_many", R"({"__metadata__":{"colibri.fmt":")" + many_stamps + R"("},)" + a + "}", 8, "more than 4096 entries"},
  };
}

class HostileHeader : public testing::TestWithParam<HeaderCase> {};

TEST_P(HostileHeader, IsNamed_AndAGoodOneIsRead) {
  const HeaderCase& c = GetParam();
  const auto got = parse(c.json, c.data_bytes);
  if (c.says == nullptr) {
    ASSERT_TRUE(got.ok()) << got.error().what;
    return;
  }
  ASSERT_FALSE(got.ok());
  EXPECT_EQ(got.error().code, Errc::Corrupt);
  EXPECT_NE(got.error().what.find(c.says), std::string::npos) << got.error().what;
  EXPECT_NE(got.error().what.find("x.safetensors"), std::string::npos) << got.error().what;
  EXPECT_LT(got.error().what.size(), 600u);
}

INSTANTIATE_TEST_SUITE_P(Safetensors, HostileHeader, testing::ValuesIn(headerCases()), [](const auto& test) { return std::string(test.param.name); });

TEST(SafetensorsHeader, KeepsWhatTheFileSays) {
  const auto got = parse(R"({"__metadata__":{"colibri.fmt":"{\"w\":\"int4-grouped\"}"},"w":{"dtype":"U8","shape":[6],"data_offsets":[8,14]},)"
                         R"("v":{"dtype":"BF16","shape":[2,2],"data_offsets":[0,8]}})",
                         14);
  ASSERT_TRUE(got.ok()) << got.error().what;
  const SafetensorsHeader& header = got.value();
  ASSERT_EQ(header.tensors.size(), 2u);
  EXPECT_EQ(header.tensors[0].name, "v");
  EXPECT_EQ(header.tensors[0].dtype, Dtype::Bf16);
  EXPECT_EQ(shapeText(header.tensors[0]), "[2, 2]");
  EXPECT_EQ(header.tensors[1].dtype, Dtype::U8);
  EXPECT_EQ(header.tensors[1].data.offset - header.tensors[0].data.offset, 8u);
  EXPECT_EQ(header.tensors[1].data.bytes, 6u);
  EXPECT_EQ(header.stamps.at("w"), "int4-grouped");
}

TEST(SafetensorsHeader, ShowsNoControlCharacterOfAName) {
  const auto got = parse("{\"a\\u001b[31m\\n\":{}}", 0);
  ASSERT_FALSE(got.ok());
  EXPECT_NE(got.error().what.find("'a?[31m?'"), std::string::npos) << got.error().what;
}

TEST(SafetensorsFile, IsReadWhole_AndRefusedWhenCutAtAnyByte) {
  const TempDir directory;
  SafetensorsWriter writer;
  writer.add("w", "U8", {6}, 6);
  writer.add("w.qs", "F32", {3}, 12);
  writer.stamps["w"] = "int4-row";
  const std::string whole = writer.bytes();
  const auto path = directory.path() / "cut.safetensors";
  for (std::size_t length = 0; length < whole.size(); ++length) {
    writeBytes(path, whole.substr(0, length));
    const auto got = readSafetensorsFile(path);
    ASSERT_FALSE(got.ok()) << "cut at " << length;
    EXPECT_EQ(got.error().code, Errc::Corrupt) << "cut at " << length;
  }
  writeBytes(path, whole);  // the control: the same bytes, all of them
  const auto got = readSafetensorsFile(path);
  ASSERT_TRUE(got.ok()) << got.error().what;
  EXPECT_EQ(got.value().header.tensors.size(), 2u);
  EXPECT_EQ(got.value().file.size, whole.size());
  EXPECT_NE(got.value().file.inode, 0u);
  EXPECT_NE(got.value().file.modified_ns, 0);
}

TEST(SafetensorsFile, SurvivesEveryFlippedByteOfItsHeader) {
  const TempDir directory;
  SafetensorsWriter writer;
  writer.add("w", "BF16", {2, 3}, 12);
  const std::string whole = writer.bytes();
  const auto path = directory.path() / "flipped.safetensors";
  int refused = 0;
  for (std::size_t at = 0; at < whole.size() - 12; ++at)
    for (const int mask : {0x01, 0x20, 0x80}) {
      std::string changed = whole;
      changed[at] = char(changed[at] ^ mask);
      writeBytes(path, changed);
      const auto got = readSafetensorsFile(path);
      if (!got.ok()) ++refused;
      if (got.ok()) {
        for (const TensorEntry& entry : got.value().header.tensors) EXPECT_LE(entry.data.offset + entry.data.bytes, whole.size());
      }
    }
  EXPECT_GT(refused, 100);  // most single flips break something
}

TEST(SafetensorsFile, RefusesLengthsThatCannotBe) {
  const TempDir directory;
  const auto path = directory.path() / "length.safetensors";
  for (const std::uint64_t length : {std::uint64_t(3), std::uint64_t(1) << 29, (std::uint64_t(1) << 29) + 1, std::uint64_t(1) << 63, ~std::uint64_t(0)}) {
    std::string bytes = safetensorsBytes("{}", "");
    for (int i = 0; i < 8; ++i) bytes[std::size_t(i)] = char((length >> (8 * i)) & 0xff);
    writeBytes(path, bytes);
    const auto got = readSafetensorsFile(path);
    ASSERT_FALSE(got.ok());
    EXPECT_NE(got.error().what.find(std::to_string(length)), std::string::npos) << got.error().what;
  }
}

TEST(SafetensorsFile, IsNotAPipeOrADirectory) {
  const TempDir directory;
  std::filesystem::create_directory(directory.path() / "d.safetensors");
  EXPECT_FALSE(readSafetensorsFile(directory.path() / "d.safetensors").ok());
  EXPECT_FALSE(readSafetensorsFile(directory.path() / "none.safetensors").ok());
}

}  // namespace
}  // namespace sluice
