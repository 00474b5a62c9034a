#pragma once
// config.json read key by key with a range for each value, so that no hostile number reaches a shape. All faults are gathered: one error
// names every one of them.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/ids.h"
#include "core/base/result.h"
#include "core/format/json_text.h"

namespace sluice {

class ConfigReader {
 public:
  /// `what` names the object in errors: "config.json", "rope_parameters of config.json".
  ConfigReader(simdjson::dom::object object, std::string what) : object_(object), what_(std::move(what)) {}

  /// True when the key is there and not null.
  bool has(std::string_view key) const;
  /// The values below are the fallback (or, without one, the range's least) when a fault was noted.
  int integer(std::string_view key, std::int64_t least, std::int64_t most, std::optional<int> fallback = std::nullopt);
  double number(std::string_view key, double least, double most, std::optional<double> fallback = std::nullopt);
  bool boolean(std::string_view key, bool fallback);
  std::string text(std::string_view key, std::string_view fallback = {});
  /// A list of exactly `count` strings.
  std::vector<std::string> texts(std::string_view key, std::size_t count);
  /// The object under `key`; nothing when it is absent.
  std::optional<simdjson::dom::object> object(std::string_view key);

  /// A key whose every other value changes what is computed and is not handled.
  void mustBeFlag(std::string_view key, bool wanted);
  void mustBeNumber(std::string_view key, std::int64_t wanted);
  void mustBeText(std::string_view key, std::string_view wanted);
  void mustBeAbsent(std::string_view key);

  void corrupt(const std::string& sentence);
  void unsupported(const std::string& sentence);
  /// Takes over the faults of a reader of an inner object.
  void absorb(const ConfigReader& inner);
  /// Keys of the object that are in none of the lists.
  std::vector<std::string> keysOutside(std::initializer_list<std::span<const std::string_view>> known) const;

  Result<Done> verdict() const;

 private:
  std::optional<simdjson::dom::element> value(std::string_view key) const;
  std::string shown(std::string_view key) const;
  simdjson::dom::object object_;
  std::string what_;
  std::vector<std::string> faults_;
  bool only_unsupported_ = true;
};

/// eos_token_id of config.json and of generation_config.json (may be null) together: an id or a list in each; sorted, each once.
/// errors  Corrupt (not ids, ids outside the vocabulary)
Result<std::vector<TokenId>> stopIds(const JsonText& config, const JsonText* generation, int vocabulary);

}  // namespace sluice
