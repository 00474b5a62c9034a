#include "core/base/arena.h"

#include <cstring>

#include <gtest/gtest.h>

namespace sluice {
namespace {

TEST(Arena, GivesAlignedMemoryFrontToBack_ThatIsZero) {
  Arena arena = Arena::create(5_MiB).value();
  EXPECT_EQ(arena.capacity(), 6_MiB);
  const auto first = arena.take(Bytes(100), 64, "a").value();
  const auto second = arena.take(Bytes(5000), 4096, "b").value();
  const auto third = arena.take(Bytes(8), 8, "a").value();
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(first.data()) % kHugePage.count(), 0u);
  EXPECT_EQ(second.data() - first.data(), 4096);
  EXPECT_EQ(third.data() - second.data(), 5000);
  for (const std::byte b : second) EXPECT_EQ(b, std::byte(0));
  std::memset(second.data(), 7, second.size());
}

TEST(Arena, AccountsByName_PaddingIncluded) {
  Arena arena = Arena::create(2_MiB).value();
  ASSERT_TRUE(arena.take(Bytes(100), 64, "weights").ok());
  ASSERT_TRUE(arena.take(Bytes(100), 4096, "slots").ok());
  ASSERT_TRUE(arena.take(Bytes(10), 1, "weights").ok());
  const std::vector<ArenaItem> account = arena.account();
  ASSERT_EQ(account.size(), 2u);
  EXPECT_EQ(account[0].name, "weights");
  EXPECT_EQ(account[0].bytes, Bytes(110));
  EXPECT_EQ(account[1].bytes, Bytes(4096));
  EXPECT_EQ(arena.taken(), Bytes(4206));
}

TEST(Arena, RefusesWhatIsNotLeft_WithTheNumbers) {
  Arena arena = Arena::create(2_MiB).value();
  ASSERT_TRUE(arena.take(1_MiB, 1, "a").ok());
  const auto refused = arena.take(1_MiB + Bytes(1), 1, "kv");
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, Errc::OutOfBudget);
  EXPECT_NE(refused.error().what.find("kv needs 1048577 bytes, 1048576 of the 2097152"), std::string::npos) << refused.error().what;
  EXPECT_TRUE(arena.take(1_MiB, 1, "kv").ok());
  EXPECT_FALSE(arena.take(Bytes(1), 1, "kv").ok());
  EXPECT_FALSE(arena.take(Bytes(~std::uint64_t(0)), 4096, "all").ok());
}

TEST(Arena, RefusesImpossibleSizes) {
  EXPECT_EQ(Arena::create(Bytes(~std::uint64_t(0))).error().code, Errc::OutOfBudget);
}

TEST(Arena, ReservesAddressesOnly_UntilTouched) {
  Arena arena = Arena::create(256_GiB).value();  // more than the machine has
  const auto some = arena.take(200_GiB, 4096, "slots").value();
  some.back() = std::byte(1);
  EXPECT_EQ(some.back(), std::byte(1));
}

}  // namespace
}  // namespace sluice
