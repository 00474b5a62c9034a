#pragma once
// A model of tests/models taken apart, changed and written to a directory of its own.

#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>
#include <stdexcept>
#include <string>

#include <nlohmann/json.hpp>

#include "core/base/file.h"
#include "core/format/safetensors.h"
#include "tests/support/safetensors_writer.h"
#include "tests/support/temp_dir.h"

namespace sluice {

class ModelSurgery {
 public:
  std::map<std::string, SafetensorsWriter> files;  // by file name
  nlohmann::ordered_json config, generation;       // generation null: no file
  std::map<std::string, std::string> other;        // further files, as text

  /// Takes the weights and configs of tests/models/NAME.
  explicit ModelSurgery(const std::string& name) {
    const std::filesystem::path source = std::filesystem::path(SLUICE_TEST_DATA) / "models" / name;
    config = nlohmann::ordered_json::parse(textOf(source / "config.json"));
    if (std::filesystem::exists(source / "generation_config.json")) generation = nlohmann::ordered_json::parse(textOf(source / "generation_config.json"));
    for (const auto& item : std::filesystem::directory_iterator(source)) {
      const std::string file = item.path().filename().string();
      if (file == "expected.safetensors") continue;
      if (file == "model.safetensors.index.json") other[file] = textOf(item.path());
      if (item.path().extension() == ".safetensors") files[file] = takeApart(item.path());
    }
  }

  /// Removes every tensor whose name contains `part`; how many there were.
  int remove(const std::string& part) {
    int count = 0;
    for (auto& [file, writer] : files)
      for (auto it = writer.tensors.begin(); it != writer.tensors.end();)
        if (it->first.find(part) != std::string::npos) {
          writer.stamps.erase(it->first);
          it = writer.tensors.erase(it);
          ++count;
        } else {
          ++it;
        }
    return count;
  }

  TestTensor& tensor(const std::string& name) {
    for (auto& [file, writer] : files)
      if (const auto it = writer.tensors.find(name); it != writer.tensors.end()) return it->second;
    throw std::runtime_error("no tensor " + name);
  }

  /// Writes all anew and returns the directory.
  const std::filesystem::path& write() {
    std::filesystem::remove_all(directory_.path());
    std::filesystem::create_directory(directory_.path());
    writeBytes(directory_.path() / "config.json", config.dump());
    if (!generation.is_null()) writeBytes(directory_.path() / "generation_config.json", generation.dump());
    for (const auto& [file, writer] : files) writer.write(directory_.path() / file);
    for (const auto& [file, text] : other) writeBytes(directory_.path() / file, text);
    return directory_.path();
  }

 private:
  static std::string textOf(const std::filesystem::path& path) {
    std::ifstream in(path, std::ios::binary);
    std::ostringstream text;
    text << in.rdbuf();
    if (!in) throw std::runtime_error("cannot read " + path.string());
    return text.str();
  }

  static SafetensorsWriter takeApart(const std::filesystem::path& path) {
    const std::string bytes = textOf(path);
    SafetensorsWriter out;
    const auto file = readSafetensorsFile(path);
    if (!file.ok()) throw std::runtime_error(file.error().what);
    for (const TensorEntry& entry : file.value().header.tensors)
      out.tensors[entry.name] = {entry.dtype_name, {entry.shape.begin(), entry.shape.begin() + entry.rank}, bytes.substr(entry.data.offset, entry.data.bytes)};
    out.stamps = file.value().header.stamps;
    return out;
  }

  TempDir directory_;
};

}  // namespace sluice
