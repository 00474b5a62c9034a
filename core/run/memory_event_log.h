#pragma once
// An event log in memory.

#include <cstdint>
#include <mutex>
#include <string>
#include <vector>

#include "core/ports/event_log.h"

namespace sluice {

class MemoryEventLog final : public EventLog {
 public:
  /// Room for so many events and bytes of text is taken now; more is taken as needed.
  MemoryEventLog(std::size_t events_reserved, std::size_t text_reserved);
  Result<Done> append(Event event) override;
  std::uint64_t read(std::uint64_t from, std::vector<Event>& out) const override;

 private:
  struct Record {
    Event event;  // without its text
    std::size_t text_begin = 0, text_bytes = 0;
  };
  mutable std::mutex mutex_;
  std::vector<Record> records_;
  std::string text_;
};

}  // namespace sluice
