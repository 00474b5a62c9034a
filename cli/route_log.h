#pragma once
// --trace-routes: one JSON line a token and layer, {pos, layer, ids, weights, margin}.

#include <cstdio>
#include <filesystem>
#include <memory>
#include <optional>

#include "core/base/result.h"
#include "core/model/layer_tap.h"
#include "core/run/generation.h"

namespace sluice {

class RouteLog final : public LayerTap {
 public:
  /// errors  BadRequest (the file cannot be created)
  static Result<std::unique_ptr<RouteLog>> create(const std::filesystem::path& path);
  ~RouteLog() override;
  /// Rows are this generation's from now on.
  void follow(const Generation& generation) { generation_ = &generation; }
  /// Errors: Io, of any line so far.
  Result<Done> finish();

  void hidden(LayerId, int, std::span<const float>) override {}
  void router(LayerId layer, int row, std::span<const ExpertId> ids, std::span<const float> weights, float margin) override;
  void index(LayerId, int, std::span<const std::int32_t>) override {}

 private:
  RouteLog(std::FILE* file, std::filesystem::path path) : file_(file), path_(std::move(path)) {}
  std::FILE* file_;
  std::filesystem::path path_;
  const Generation* generation_ = nullptr;
};

}  // namespace sluice
