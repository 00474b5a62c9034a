#include "cli/tensor_file.h"

#include <bit>
#include <cstring>

#include <nlohmann/json.hpp>

#include "core/base/bytes.h"
#include "core/base/check.h"

namespace sluice {

static_assert(std::endian::native == std::endian::little, "safetensors is little-endian, and so are we");

void TensorFile::add(Tensor tensor) {
  std::uint64_t elements = 1;
  for (const std::int64_t n : tensor.shape) elements *= std::uint64_t(n);
  CHECK(elements == (tensor.is_float ? tensor.floats.size() : tensor.ids.size()));
  tensors_.push_back(std::move(tensor));
}

void TensorFile::add(std::string name, std::vector<std::int64_t> shape, std::vector<float> values) {
  add(Tensor{std::move(name), std::move(shape), std::move(values), {}, true});
}

void TensorFile::add(std::string name, std::vector<std::int64_t> shape, std::vector<std::int64_t> values) {
  add(Tensor{std::move(name), std::move(shape), {}, std::move(values), false});
}

Result<Done> TensorFile::write(FileSteps& steps, const std::filesystem::path& path) const {
  nlohmann::ordered_json header = nlohmann::ordered_json::object();
  std::uint64_t offset = 0;
  for (const Tensor& t : tensors_) {
    header[t.name] = {{"dtype", t.is_float ? "F32" : "I64"}, {"shape", t.shape}, {"data_offsets", {offset, offset + t.bytes()}}};
    offset += t.bytes();
  }
  std::string text = header.dump();
  text.resize(roundUp(text.size(), 8), ' ');  // data begins 8-aligned, as readers that map the file expect
  const std::uint64_t length = text.size();
  ReplacingFile file = TRY(ReplacingFile::begin(steps, path));
  TRY(file.append(std::as_bytes(std::span(&length, 1))));
  TRY(file.append(std::as_bytes(std::span(text))));
  for (const Tensor& t : tensors_) TRY(file.append(t.is_float ? std::as_bytes(std::span(t.floats)) : std::as_bytes(std::span(t.ids))));
  return file.commit();
}

}  // namespace sluice
