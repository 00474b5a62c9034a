#include "cli/route_log.h"

#include <cerrno>
#include <cmath>

#include <fmt/format.h>

#include "core/base/file.h"

namespace sluice {

Result<std::unique_ptr<RouteLog>> RouteLog::create(const std::filesystem::path& path) {
  std::FILE* file = std::fopen(path.c_str(), "we");
  if (file == nullptr) return Error{Errc::BadRequest, fmt::format("--trace-routes: cannot create '{}': {}", path.string(), errnoText(errno))};
  return std::unique_ptr<RouteLog>(new RouteLog(file, path));
}

RouteLog::~RouteLog() {
  if (file_ != nullptr) std::fclose(file_);
}

Result<Done> RouteLog::finish() {
  const bool failed = std::ferror(file_) != 0;
  const int closed = std::fclose(file_);
  file_ = nullptr;
  if (failed || closed != 0) return Error{Errc::Io, fmt::format("writing '{}' failed: {}", path_.string(), errnoText(errno))};
  return Done{};
}

void RouteLog::router(LayerId layer, int row, std::span<const ExpertId> ids, std::span<const float> weights, float margin) {
  if (generation_ == nullptr || generation_->done()) return;
  std::string line = fmt::format("{{\"pos\": {}, \"layer\": {}, \"ids\": [", generation_->plan().position + row, layer.value());
  for (std::size_t i = 0; i < ids.size(); ++i) line += fmt::format("{}{}", i == 0 ? "" : ", ", ids[i].value());
  line += "], \"weights\": [";
  for (std::size_t i = 0; i < weights.size(); ++i) line += fmt::format("{}{}", i == 0 ? "" : ", ", weights[i]);
  // No expert was refused: no margin.
  line += std::isfinite(margin) ? fmt::format("], \"margin\": {}}}\n", margin) : std::string("], \"margin\": null}\n");
  std::fwrite(line.data(), 1, line.size(), file_);
}

}  // namespace sluice
