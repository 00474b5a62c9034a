#include "tests/bench/bench.h"

#include <emmintrin.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "core/base/check.h"

namespace sluice::bench {
namespace {

double now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

/// Reads [begin, end) in `streams` parts side by side; with `ahead`, asks for memory that many bytes before it is read.
std::uint64_t readAll(const std::byte* begin, const std::byte* end, int streams, std::size_t ahead) {
  const std::size_t part = std::size_t(end - begin) / std::size_t(streams) / 64 * 64;
  __m128i sum[4] = {};
  for (std::size_t at = 0; at < part; at += 64) {
    for (int s = 0; s < streams; ++s) {
      const std::byte* p = begin + std::size_t(s) * part + at;
      if (ahead != 0) _mm_prefetch(reinterpret_cast<const char*>(p + ahead), _MM_HINT_T0);
      for (int i = 0; i < 4; ++i) sum[i] = _mm_xor_si128(sum[i], _mm_loadu_si128(reinterpret_cast<const __m128i*>(p + 16 * i)));
    }
  }
  const __m128i all = _mm_xor_si128(_mm_xor_si128(sum[0], sum[1]), _mm_xor_si128(sum[2], sum[3]));
  return std::uint64_t(_mm_cvtsi128_si64(all));
}

}  // namespace

bool isReal() {
  const char* wanted = std::getenv("SLUICE_BENCH");
  return wanted != nullptr && std::string_view(wanted) == "real";
}

void Bench::start() { began_ = std::chrono::steady_clock::now(); }
void Bench::stop() { runs_.push_back(std::chrono::duration<double>(std::chrono::steady_clock::now() - began_).count()); }

double Bench::seconds() const {
  CHECK(!runs_.empty());
  std::vector<double> sorted = runs_;
  std::sort(sorted.begin(), sorted.end());
  return sorted[sorted.size() / 2];
}

void Bench::report(std::uint64_t checksum, Bytes bytes_a_run, double limit, std::uint64_t seed) const {
  const double rate = double(bytes_a_run.count()) / seconds();
  std::string share;
  if (limit > 0) share = ", " + std::to_string(int(100 * rate / limit + 0.5)) + " % of the " + std::to_string(limit / 1e9).substr(0, 5) + " GB/s this machine reads";
  std::printf("%s: %.3f ms (median of %zu), %.2f GB/s%s, checksum %016llx, seed %llu\n", std::string(name_).c_str(), seconds() * 1e3, runs_.size(), rate / 1e9,
              share.c_str(), static_cast<unsigned long long>(checksum), static_cast<unsigned long long>(seed));
}

double readRate(Team& team, const std::byte* memory, std::size_t bytes) {
  double best = 0;
  std::vector<std::uint64_t> sums(std::size_t(team.size()));
  for (int run = 0; run < 3; ++run) {
    for (const auto& [streams, ahead] : {std::pair<int, std::size_t>{1, 0}, {1, 1024}, {4, 0}, {4, 512}}) {
      const double began = now();
      team.run([&, streams = streams, ahead = ahead](const Member& member) {
        const std::size_t part = bytes / std::size_t(member.count());
        const std::byte* begin = memory + part * std::size_t(member.index());
        sums[std::size_t(member.index())] ^= readAll(begin, begin + part, streams, ahead);
      });
      best = std::max(best, double(bytes) / (now() - began));
    }
  }
  volatile std::uint64_t used = sums[0];
  (void)used;
  return best;
}

}  // namespace sluice::bench
