#include "kv/latent_cache.h"

#include <cstring>
#include <set>
#include <vector>

#include <gtest/gtest.h>

namespace sluice {
namespace {

const std::vector<KvLayerShape> kShapes{{12, 4}, {12, 0}, {20, 8}};

struct Cache {
  Arena arena;
  std::unique_ptr<LatentCache> cache;
};

Cache makeCache(const LatentCacheOptions& options) {
  Arena arena = std::move(Arena::create(LatentCache::bytesFor(kShapes, options))).value();
  auto cache = LatentCache::create(kShapes, options, arena);
  EXPECT_TRUE(cache.ok());
  return {std::move(arena), std::move(cache).value()};
}

// The row as a kernel finds it (the words of core/ports/kernels.h), against the row as the writer is given it.
const std::byte* asKernelsFindIt(const CachedRows& rows, int position) {
  return rows.slabs[position / rows.slab_rows] + std::size_t(position % rows.slab_rows) * std::size_t(rows.width) * bytesOf(rows.format);
}

TEST(LatentCache, RowsAreWhereKernelsLook_AndNoTwoShareBytes) {
  for (const RowFormat format : {RowFormat::F32, RowFormat::Bf16}) {
    Cache c = makeCache({.format = format, .context = 21, .sequences_max = 3, .slab_rows = 4});
    std::set<const std::byte*> seen;
    std::size_t bytes = 0;
    for (int n = 0; n < 3; ++n) {
      const SequenceId sequence = c.cache->open().value();
      ASSERT_TRUE(c.cache->reserve(sequence, 21).ok());
      for (std::uint32_t layer = 0; layer < kShapes.size(); ++layer) {
        for (const KvPart part : {KvPart::Latent, KvPart::Index}) {
          const int width = part == KvPart::Latent ? kShapes[layer].latent_width : kShapes[layer].index_width;
          if (width == 0) continue;
          const CachedRows rows = c.cache->rows(sequence, LayerId(layer), part);
          EXPECT_EQ(rows.width, width);
          EXPECT_EQ(rows.format, format);
          for (int position = 0; position < 21; ++position) {
            std::byte* row = c.cache->row(sequence, LayerId(layer), part, position);
            EXPECT_EQ(row, asKernelsFindIt(rows, position));
            const std::size_t row_bytes = std::size_t(width) * bytesOf(format);
            for (std::size_t i = 0; i < row_bytes; ++i) seen.insert(row + i);
            bytes += row_bytes;
          }
        }
      }
    }
    EXPECT_EQ(seen.size(), bytes);  // one shared byte would make the set smaller
  }
}

TEST(LatentCache, GrowingKeepsRows_AndRollbackGivesSlabsBack) {
  Cache c = makeCache({.format = RowFormat::F32, .context = 32, .sequences_max = 2, .slab_rows = 4});
  const SequenceId a = c.cache->open().value(), b = c.cache->open().value();
  EXPECT_EQ(c.cache->slabsFree(), 16);
  for (int n = 1; n <= 20; ++n) {
    for (const SequenceId sequence : {a, b}) {
      ASSERT_TRUE(c.cache->reserve(sequence, n).ok());
      std::memset(c.cache->row(sequence, LayerId(2), KvPart::Index, n - 1), n + (sequence == a ? 0 : 100), 32);
      c.cache->setLength(sequence, n);
    }
  }
  EXPECT_EQ(c.cache->slabsFree(), 6);
  c.cache->setLength(b, 7);
  EXPECT_EQ(c.cache->length(b), 7);
  EXPECT_EQ(c.cache->slabsFree(), 9);
  ASSERT_TRUE(c.cache->reserve(b, 20).ok());
  for (int position = 0; position < 20; ++position) {
    EXPECT_EQ(std::to_integer<int>(*c.cache->row(a, LayerId(2), KvPart::Index, position)), position + 1);
    if (position < 7) { EXPECT_EQ(std::to_integer<int>(*c.cache->row(b, LayerId(2), KvPart::Index, position)), position + 101); }
  }
  c.cache->close(b);
  EXPECT_EQ(c.cache->slabsFree(), 11);
  EXPECT_EQ(c.cache->length(c.cache->open().value()), 0);
}

TEST(LatentCache, SaysSo_WhenTheContextIsFullOrAllSequencesAreOpen) {
  Cache c = makeCache({.format = RowFormat::Bf16, .context = 10, .sequences_max = 1, .slab_rows = 4});
  const SequenceId sequence = c.cache->open().value();
  EXPECT_TRUE(c.cache->reserve(sequence, 10).ok());
  const auto full = c.cache->reserve(sequence, 11);
  ASSERT_FALSE(full.ok());
  EXPECT_EQ(full.error().code, Errc::OutOfBudget);
  EXPECT_NE(full.error().what.find("11 tokens"), std::string::npos) << full.error().what;
  EXPECT_NE(full.error().what.find("--context"), std::string::npos) << full.error().what;
  const auto second = c.cache->open();
  ASSERT_FALSE(second.ok());
  EXPECT_EQ(second.error().code, Errc::OutOfBudget);
}

TEST(LatentCache, BytesAreWhatTheShapesSay) {
  // By hand: (12 + 4) + 12 + (20 + 8) values a token.
  EXPECT_EQ(LatentCache::bytesPerToken(kShapes, RowFormat::Bf16), Bytes(56 * 2));
  EXPECT_EQ(LatentCache::bytesPerToken(kShapes, RowFormat::F32), Bytes(56 * 4));
  // 33 tokens are 3 slabs of 16 rows; every part of 16 f32 rows is a multiple of 64 bytes, so nothing is lost between parts.
  EXPECT_EQ(LatentCache::bytesFor(kShapes, {.format = RowFormat::F32, .context = 33, .sequences_max = 2, .slab_rows = 16}), Bytes(56 * 4 * 16 * 3 * 2));
  Arena small = std::move(Arena::create(Bytes(1))).value();
  const auto refused = LatentCache::create(kShapes, {.format = RowFormat::F32, .context = 1 << 20, .sequences_max = 1}, small);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, Errc::OutOfBudget);
}

TEST(LatentCacheDeathTest, RefusesRowsThatNobodyReserved) {
  Cache c = makeCache({.format = RowFormat::F32, .context = 16, .sequences_max = 1, .slab_rows = 4});
  const SequenceId sequence = c.cache->open().value();
  ASSERT_TRUE(c.cache->reserve(sequence, 4).ok());
  EXPECT_DEATH(c.cache->row(sequence, LayerId(0), KvPart::Latent, 4), "CHECK failed");
  EXPECT_DEATH(c.cache->rows(sequence, LayerId(1), KvPart::Index), "CHECK failed");
  EXPECT_DEATH(c.cache->setLength(sequence, 9), "CHECK failed");
  c.cache->close(sequence);
  EXPECT_DEATH(c.cache->length(sequence), "CHECK failed");
}

}  // namespace
}  // namespace sluice
