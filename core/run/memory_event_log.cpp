#include "core/run/memory_event_log.h"

namespace sluice {

MemoryEventLog::MemoryEventLog(std::size_t events_reserved, std::size_t text_reserved) {
  records_.reserve(events_reserved);
  text_.reserve(text_reserved);
}

Result<Done> MemoryEventLog::append(Event event) {
  const std::lock_guard lock(mutex_);
  Record record;
  record.text_begin = text_.size();
  record.text_bytes = event.text.size();
  text_ += event.text;
  event.text.clear();
  record.event = std::move(event);
  records_.push_back(std::move(record));
  return Done{};
}

std::uint64_t MemoryEventLog::read(std::uint64_t from, std::vector<Event>& out) const {
  const std::lock_guard lock(mutex_);
  for (std::uint64_t i = from; i < records_.size(); ++i) {
    out.push_back(records_[i].event);
    out.back().text.assign(text_, records_[i].text_begin, records_[i].text_bytes);
  }
  return records_.size() > from ? records_.size() : from;
}

}  // namespace sluice
