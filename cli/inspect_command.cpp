#include <fmt/format.h>

#include "cli/commands.h"
#include "core/model/inspect.h"
#include "core/model/layout.h"
#include "core/text/chat_template.h"

namespace sluice {

CommandResult inspectCommand(const Invocation& call) {
  const Options& options = call.options;
  ModelLayout layout = TRY(openLayout(options.model.model));
  const Result<ChatTemplate> chat = ChatTemplate::load(options.model.model);
  if (!chat.ok()) layout.warnings.push_back({chat.error().code == Errc::NotFound ? "template_missing" : "template_refused", chat.error().what});
  const std::vector<RoleSummary> roles = summariseRoles(layout);

  nlohmann::ordered_json role_list = nlohmann::ordered_json::array(), warnings = nlohmann::ordered_json::array(), stops = nlohmann::ordered_json::array();
  Bytes total{0};
  for (const RoleSummary& role : roles) {
    role_list.push_back({{"role", role.role}, {"format", role.format}, {"bytes", role.bytes.count()}});
    total += role.bytes;
  }
  for (const LayoutWarning& w : layout.warnings) warnings.push_back({{"code", w.code}, {"text", w.text}});
  std::string stop_text;
  for (const TokenId id : layout.config.stop_ids) {
    stops.push_back(id.value());
    stop_text += fmt::format("{}{}", stop_text.empty() ? "" : ", ", id.value());
  }
  if (options.json) {
    TRY(printJson({{"family", layout.config.family},
                   {"architecture", layout.config.architecture},
                   {"layers", layout.config.layers.size()},
                   {"roles", role_list},
                   {"bytes", total.count()},
                   {"vocabulary", layout.config.vocabulary},
                   {"experts", layout.config.router.experts},
                   {"experts_a_token", layout.config.router.top_k},
                   {"stop_ids", stops},
                   {"context", layout.config.context_max},
                   {"mtp", layout.mtp.has_value()},
                   {"warnings", warnings}}));
    return ExitCode::Ok;
  }
  fmt::print("family    {} ({})\nlayers    {}, of {} experts a layer {} are chosen for a token\n", layout.config.family, layout.config.architecture,
             layout.config.layers.size(), layout.config.router.experts, layout.config.router.top_k);
  fmt::print("context   {} tokens\nstop ids  {}\n", layout.config.context_max, stop_text.empty() ? "none" : stop_text);
  for (const RoleSummary& role : roles) fmt::print("  {:<16} {:<14} {:>12}\n", role.role, role.format, sizeText(role.bytes));
  fmt::print("  {:<16} {:<14} {:>12}\n", "all", "", sizeText(total));
  for (const LayoutWarning& w : layout.warnings) fmt::print("warning   {}: {}\n", w.code, w.text);
  return ExitCode::Ok;
}

}  // namespace sluice
