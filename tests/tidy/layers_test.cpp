// Goal:   folders meet where docs/ARCHITECTURE.md says, in includes and in links.
// Method: each rule is run over this repository, where it finds nothing, and over a made-up tree that breaks it, where it must.

#include "tests/tidy/layer_rules.h"

#include <gtest/gtest.h>

#include "tests/tidy/work_tree.h"

namespace sluice::tidy {
namespace {

TEST(Tidy, IncludesFollowTheTable) { expectNone(includesAgainstTheTable(workTree())); }
TEST(Tidy, ThirdPartyHeadersStayInTheirRooms) { expectNone(thirdPartyOutsideItsRooms(workTree())); }
TEST(Tidy, LinkEdgesAreTheTable) { expectNone(linkEdgesAgainstTheTable(workTree())); }

TEST(TidyControl, RoomsAreTheLongestMatchingFolder) {
  EXPECT_EQ(roomOf("core/base/half.h"), "core/base");
  EXPECT_EQ(roomOf("core/run/grammar/rule.h"), "core/run");
  EXPECT_EQ(roomOf("cli/main.cpp"), "cli");
  EXPECT_EQ(roomOf("cli/serve/sse.h"), "cli/serve");
  EXPECT_EQ(roomOf("core/basement/x.h"), "");
  EXPECT_EQ(roomOf("other/x.h"), "");
}

TEST(TidyControl, IncludesAgainstTheTable_AreFound) {
  const Tree tree{{
      {"core/model/moe.cpp", "#include \"core/model/moe.h\"\n\n#include \"stream/expert_store.h\"\n"},
      {"kv/cache.cpp", "#include \"core/ports/kv_store.h\"\n#include \"stream/lru.h\"\n"},
      {"stream/a.cpp", "#include \"core/format/safetensors.h\"\n#include \"b.h\"\n"},
      {"cli/wire.cpp", "#include \"simd/dispatch.h\"\n"},
      {"attic/old.cpp", "int x;\n"},
      {"mtp/ok.cpp", "// #include \"kv/cache.h\"\n#include \"core/model/config.h\"\n"},
  }};
  const std::vector<Finding> found = includesAgainstTheTable(tree);
  ASSERT_EQ(found.size(), 4u) << toString(found);
  EXPECT_EQ(found[0].path, "core/model/moe.cpp");
  EXPECT_EQ(found[0].line, 3);
  EXPECT_EQ(found[1].path, "kv/cache.cpp");
  EXPECT_EQ(found[2].path, "stream/a.cpp");
  EXPECT_EQ(found[3].path, "attic/old.cpp");
}

TEST(TidyControl, StrayThirdPartyHeaders_AreFound) {
  const Tree tree{{
      {"core/model/moe.cpp", "#include <vector>\n#include <simdjson.h>\n#include <sys/mman.h>\n"},
      {"core/text/bpe.cpp", "#include <boost/asio.hpp>\n"},
      {"stream/uring_device.cpp", "#include <liburing.h>\n"},
  }};
  const std::vector<Finding> found = thirdPartyOutsideItsRooms(tree);
  ASSERT_EQ(found.size(), 2u) << toString(found);
  EXPECT_EQ(found[0].line, 2);
  EXPECT_EQ(found[1].path, "core/text/bpe.cpp");
}

TEST(TidyControl, LinkEdgesTooManyOrTooFew_AreFound) {
  const Tree tree{{
      {"core/base/CMakeLists.txt", "add_library(core_base STATIC a.cpp)\n"},
      {"core/ports/CMakeLists.txt", "add_library(core_ports INTERFACE)\ntarget_link_libraries(core_ports INTERFACE core_base)\n"},
      {"core/format/CMakeLists.txt", "target_link_libraries(core_format PUBLIC core_ports)  # core_text\n"},
      {"kv/CMakeLists.txt", "target_link_libraries(kv PUBLIC core_ports\n  stream)\n"},
      {"simd/CMakeLists.txt", "target_link_libraries(simd PUBLIC core_base)\n"},
      {"stream/CMakeLists.txt", "target_link_libraries(stream PUBLIC core_format fmt::fmt)\n"},
  }};
  const std::vector<Finding> found = linkEdgesAgainstTheTable(tree);
  ASSERT_EQ(found.size(), 2u) << toString(found);
  EXPECT_EQ(found[0].what, "kv may not link stream");
  EXPECT_EQ(found[1].what, "simd does not link core/ports, which its row of the table names");
}

}  // namespace
}  // namespace sluice::tidy
