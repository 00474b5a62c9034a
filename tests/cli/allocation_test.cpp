// Goal:   nothing is allocated on the token path: all memory is bought at load.
// Method: the bundled model, wired as the program wires it, from a cache of an eighth of its experts; `operator new` is counted over 100 tokens
//         behind a warm-up of 20, stop ids off so that there are so many.

#include <gtest/gtest.h>

#include "cli/wire.h"
#include "core/run/engine.h"
#include "core/run/memory_event_log.h"
#include "tests/support/allocation_count.h"

namespace sluice {
namespace {

TEST(TokenPath, AllocatesNothing_ExpertsFromDisk_DrawsIncluded) {
  ModelOptions options;
  options.model = std::string(SLUICE_TEST_DATA) + "/models/nano-gs64";
  options.state_dir = options.model / "no-such-directory";
  options.threads = 1;
  options.cache_experts = 20;
  options.context = 512;
  Result<std::unique_ptr<LoadedModel>> loaded = streamedModels()(options, {});
  ASSERT_TRUE(loaded.ok()) << loaded.error().what;
  LoadedModel& model = *loaded.value();
  const Tokenizer tokenizer = Tokenizer::load(options.model / "tokenizer.json").value();
  Engine engine({&model.forward(), &tokenizer, {}});
  GenerationSpec spec;
  spec.prompt = tokenizer.encode("Write a guide to ships with 3 sections.", false).value();
  spec.sampling.temperature = 1.0;
  spec.sampling.top_p = 0.95;
  spec.sampling.seed = 3;
  spec.limit = {200, "the test"};
  MemoryEventLog log(4096, 64 << 10);
  const std::unique_ptr<Generation> generation = engine.begin(std::move(spec), log).value();
  for (int step = 0; step < 20; ++step) ASSERT_TRUE(engine.step());
  const std::uint64_t misses = model.streamReport().misses, before = allocationCount();
  for (int step = 0; step < 100; ++step) ASSERT_TRUE(engine.step());
  EXPECT_EQ(allocationCount() - before, 0u);
  EXPECT_EQ(generation->answer().size(), 120u);
  EXPECT_GT(model.streamReport().misses, misses) << "experts did come from disk meanwhile";
  // Negative control: the counter counts.
  const std::uint64_t control = allocationCount();
  const auto made = std::make_unique<std::string>(100, 'x');
  EXPECT_GT(allocationCount(), control) << made->size();
}

}  // namespace
}  // namespace sluice
