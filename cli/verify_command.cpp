#include <fmt/format.h>

#include "cli/commands.h"
#include "cli/resident_sums.h"
#include "cli/wire.h"
#include "core/base/arena.h"
#include "core/model/layout.h"
#include "stream/sums.h"

namespace sluice {

CommandResult verifyCommand(const Invocation& call) {
  const Options& options = call.options;
  const ModelLayout layout = TRY(openLayout(options.model.model));
  const auto layers = expertLayers(layout, true);
  const std::vector<ResidentExtent> resident = residentExtents(layout);
  std::size_t experts = 0;
  for (const auto& layer : layers) experts += layer.size();

  Report report;
  const std::filesystem::path path = sumsPath(stateDirectory(options.model), options.model.model);
  const std::optional<Sums> known = loadSums(path, layout.files, experts, resident.size(), report);
  const std::unique_ptr<BlockDevice> device = TRY(openDevice(layout.files, deviceOptions(options.model)));
  Arena arena = TRY(Arena::create(verifyBytes(layers) + kHugePage));
  const VerifyReport found = TRY(verifyModel(layers, resident, layout.files, *device, arena, known ? &*known : nullptr, [&](const VerifyProgress& p) {
    call.progress.show("verifying", double(p.done.count()), double(p.total.count()), "bytes");
    return !call.interrupts.interrupted();
  }));
  call.progress.clear();

  nlohmann::ordered_json bad = nlohmann::ordered_json::array();
  for (const VerifyFault& fault : found.bad) {
    bad.push_back({{"what", fault.what}, {"file", fault.file}, {"offset", fault.offset}, {"bytes", fault.bytes}, {"reason", fault.reason}});
    note(call.program, fmt::format("bad: {} ({} bytes at {} of {}): {}", fault.what, fault.bytes, fault.offset, fault.file, fault.reason));
  }
  for (const Warning& w : report.warnings) note(call.program, fmt::format("warning: {}: {}", w.code, w.text));
  bool written = false;
  if (options.verify_write && found.bad.empty()) {
    std::error_code fault;
    std::filesystem::create_directories(path.parent_path(), fault);
    if (fault) return Error{Errc::Io, fmt::format("cannot create '{}': {}; give another --state-dir", path.parent_path().string(), fault.message())};
    TRY(writeSums(*call.program.files, path, layout.files, found.sums));
    written = true;
  }
  if (options.verify_write && !found.bad.empty())
    note(call.program, fmt::format("no sums were written: mend the model first, or, if the change was meant, remove '{}'", path.string()));
  note(call.program, fmt::format("read {}; {}", sizeText(found.bytes_read), known ? "compared with the sums that were written before" : "no sums were known to compare with"));
  if (options.json) {
    TRY(printJson({{"ok", found.bad.empty()}, {"bad", bad}, {"bytes_read", found.bytes_read.count()}, {"compared", known.has_value()},
                   {"written", written ? nlohmann::ordered_json(path.string()) : nlohmann::ordered_json(nullptr)}}));
  } else {
    fmt::print("{}\n", found.bad.empty() ? "ok" : fmt::format("{} bad", found.bad.size()));
  }
  return found.bad.empty() ? ExitCode::Ok : ExitCode::Model;
}

}  // namespace sluice
