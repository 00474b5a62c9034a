#include "core/model/config_reader.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace sluice {
namespace {

using simdjson::dom::element;

constexpr std::size_t kFaultsShownMax = 6;
constexpr std::size_t kValueShownMax = 60;
constexpr std::size_t kStopIdsMax = 1024;

}  // namespace

std::optional<element> ConfigReader::value(std::string_view key) const {
  element found;
  if (object_.at_key(key).get(found) != simdjson::SUCCESS || found.is_null()) return std::nullopt;
  return found;
}

std::string ConfigReader::shown(std::string_view key) const {
  const std::optional<element> found = value(key);
  if (!found) return "absent";
  return printable(simdjson::minify(*found), kValueShownMax);
}

bool ConfigReader::has(std::string_view key) const { return value(key).has_value(); }

int ConfigReader::integer(std::string_view key, std::int64_t least, std::int64_t most, std::optional<int> fallback) {
  CHECK(most <= std::numeric_limits<int>::max() && least >= std::numeric_limits<int>::min());
  const std::optional<element> found = value(key);
  if (!found && fallback) return *fallback;
  std::int64_t number = 0;
  if (!found) {
    corrupt(fmt::format("{} is missing", key));
  } else if (!found->is<std::int64_t>() || found->get(number) != simdjson::SUCCESS || number < least || number > most) {
    corrupt(fmt::format("{} is {}, a whole number from {} to {} is needed", key, shown(key), least, most));
  } else {
    return int(number);
  }
  return fallback.value_or(int(least));
}

double ConfigReader::number(std::string_view key, double least, double most, std::optional<double> fallback) {
  const std::optional<element> found = value(key);
  if (!found && fallback) return *fallback;
  double number = 0;
  if (!found) {
    corrupt(fmt::format("{} is missing", key));
  } else if (!found->is_number() || found->get(number) != simdjson::SUCCESS || !(number >= least && number <= most)) {
    corrupt(fmt::format("{} is {}, a number from {} to {} is needed", key, shown(key), least, most));
  } else {
    return number;
  }
  return fallback.value_or(least);
}

bool ConfigReader::boolean(std::string_view key, bool fallback) {
  const std::optional<element> found = value(key);
  if (!found) return fallback;
  bool flag = fallback;
  if (found->get(flag) != simdjson::SUCCESS) corrupt(fmt::format("{} is {}, true or false is needed", key, shown(key)));
  return flag;
}

std::string ConfigReader::text(std::string_view key, std::string_view fallback) {
  const std::optional<element> found = value(key);
  if (!found) return std::string(fallback);
  std::string_view words = fallback;
  if (found->get(words) != simdjson::SUCCESS) corrupt(fmt::format("{} is {}, a string is needed", key, shown(key)));
  return std::string(words);
}

std::vector<std::string> ConfigReader::texts(std::string_view key, std::size_t count) {
  std::vector<std::string> out;
  simdjson::dom::array list;
  const std::optional<element> found = value(key);
  if (!found || found->get(list) != simdjson::SUCCESS) {
    corrupt(fmt::format("{} is {}, a list of strings is needed", key, shown(key)));
  } else {
    std::size_t entries = 0;
    for (const element item : list) {
      std::string_view words;
      ++entries;
      if (entries <= count && item.get(words) == simdjson::SUCCESS) out.emplace_back(words);
    }
    if (entries != count || out.size() != count)
      corrupt(fmt::format("{} has {} entries, {} strings are needed, one a layer", key, entries, count));
  }
  out.resize(count);
  return out;
}

std::optional<simdjson::dom::object> ConfigReader::object(std::string_view key) {
  const std::optional<element> found = value(key);
  if (!found) return std::nullopt;
  simdjson::dom::object inner;
  if (found->get(inner) == simdjson::SUCCESS) return inner;
  corrupt(fmt::format("{} is {}, an object is needed", key, shown(key)));
  return std::nullopt;
}

void ConfigReader::mustBeFlag(std::string_view key, bool wanted) {
  bool flag = wanted;
  const std::optional<element> found = value(key);
  if (found && (found->get(flag) != simdjson::SUCCESS || flag != wanted))
    unsupported(fmt::format("{} is {}, only {} is computed", key, shown(key), wanted));
}

void ConfigReader::mustBeNumber(std::string_view key, std::int64_t wanted) {
  const std::optional<element> found = value(key);
  double number = 0;
  if (found && (!found->is_number() || found->get(number) != simdjson::SUCCESS || number != double(wanted)))
    unsupported(fmt::format("{} is {}, only {} is computed", key, shown(key), wanted));
}

void ConfigReader::mustBeText(std::string_view key, std::string_view wanted) {
  const std::optional<element> found = value(key);
  std::string_view words;
  if (found && (found->get(words) != simdjson::SUCCESS || words != wanted))
    unsupported(fmt::format("{} is {}, only \"{}\" is computed", key, shown(key), wanted));
}

void ConfigReader::mustBeAbsent(std::string_view key) {
  if (has(key)) unsupported(fmt::format("{} is {}, which is not computed", printable(key), shown(key)));
}

void ConfigReader::corrupt(const std::string& sentence) {
  faults_.push_back(sentence);
  only_unsupported_ = false;
}

void ConfigReader::unsupported(const std::string& sentence) { faults_.push_back(sentence); }

void ConfigReader::absorb(const ConfigReader& inner) {
  for (const std::string& fault : inner.faults_) faults_.push_back(fmt::format("in {}, {}", inner.what_, fault));
  if (!inner.only_unsupported_) only_unsupported_ = false;
}

std::vector<std::string> ConfigReader::keysOutside(std::initializer_list<std::span<const std::string_view>> known) const {
  std::vector<std::string> out;
  for (const auto& field : object_) {
    const auto listed = [&](std::span<const std::string_view> keys) { return std::find(keys.begin(), keys.end(), field.key) != keys.end(); };
    if (std::none_of(known.begin(), known.end(), listed)) out.emplace_back(field.key);
  }
  return out;
}

Result<Done> ConfigReader::verdict() const {
  if (faults_.empty()) return Done{};
  const std::size_t shown_count = std::min(faults_.size(), kFaultsShownMax);
  std::string text = fmt::format("{}: {}", what_, fmt::join(faults_.begin(), faults_.begin() + std::ptrdiff_t(shown_count), "; "));
  if (shown_count < faults_.size()) text += fmt::format("; and {} more", faults_.size() - shown_count);
  return Error{only_unsupported_ ? Errc::Unsupported : Errc::Corrupt, text};
}

Result<std::vector<TokenId>> stopIds(const JsonText& config, const JsonText* generation, int vocabulary) {
  std::vector<TokenId> out;
  for (const JsonText* source : {&config, generation}) {
    if (source == nullptr) continue;
    element found;
    if (source->root()["eos_token_id"].get(found) != simdjson::SUCCESS || found.is_null()) continue;
    const auto take = [&](element item) -> Result<Done> {
      std::int64_t id = 0;
      if (!item.is<std::int64_t>() || item.get(id) != simdjson::SUCCESS || id < 0 || id >= vocabulary)
        return Error{Errc::Corrupt, fmt::format("{}: eos_token_id holds {}, ids from 0 to {} are needed", source->what(), printable(simdjson::minify(item), kValueShownMax),
                                                vocabulary - 1)};
      if (out.size() == kStopIdsMax) return Error{Errc::Corrupt, fmt::format("{}: eos_token_id holds more than {} ids", source->what(), kStopIdsMax)};
      out.push_back(TokenId(std::uint32_t(id)));
      return Done{};
    };
    simdjson::dom::array list;
    if (found.get(list) != simdjson::SUCCESS) {
      TRY(take(found));
    } else {
      for (const element item : list) TRY(take(item));
    }
  }
  std::sort(out.begin(), out.end());
  out.erase(std::unique(out.begin(), out.end()), out.end());
  return out;
}

}  // namespace sluice
