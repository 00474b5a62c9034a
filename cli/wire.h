#pragma once
// The only file that sees every folder: builds a streamed model from a directory, in the order in which its parts may be used.

#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "cli/loaded_model.h"
#include "core/model/layout.h"
#include "stream/block_device.h"

namespace sluice {

/// Puts something around the device that reads experts. The product puts nothing there.
using DeviceWrap = std::function<std::unique_ptr<BlockDevice>(std::unique_ptr<BlockDevice> device)>;

/// The loader of real models: layout, budget, weights, experts, KV, decoder.
ModelLoader streamedModels(DeviceWrap wrap = {});

/// Experts of every layer by LayerId, the draft layer's last.
std::vector<std::span<const ExpertLayout>> expertLayers(const ModelLayout& layout, bool with_mtp);
/// A name for the weights: sizes and names of files, formats and bytes of roles; no contents.
std::uint64_t modelHash(const ModelLayout& layout);

/// --state-dir, or the XDG state directory.
std::filesystem::path stateDirectory(const ModelOptions& options);

DeviceOptions deviceOptions(const ModelOptions& options);

}  // namespace sluice
