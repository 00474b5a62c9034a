// Runs a fuzz target without libFuzzer: every file of a corpus directory whole, cut at every length (up to a bound), and with single bits
// flipped. Fails on an empty corpus: a replay of nothing would pass.

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace {

constexpr std::size_t kVariantsMax = 400;  // of each kind and file, spread over its length

void run(const std::string& input) { LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t*>(input.data()), input.size()); }

void replay(const std::string& input) {
  run(input);
  const std::size_t step = input.size() / kVariantsMax + 1;
  for (std::size_t at = 0; at < input.size(); at += step) {
    run(input.substr(0, at));
    std::string flipped = input;
    flipped[at] = char(flipped[at] ^ (1 << (at % 8)));
    run(flipped);
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: %s CORPUS_DIRECTORY\n", argv[0]);
    return 2;
  }
  int files = 0;
  for (const auto& item : std::filesystem::directory_iterator(argv[1])) {
    std::ifstream in(item.path(), std::ios::binary);
    replay(std::string(std::istreambuf_iterator<char>(in), {}));
    ++files;
  }
  std::printf("%d files replayed\n", files);
  return files > 0 ? 0 : 1;
}
