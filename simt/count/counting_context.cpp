#include "count/counting_context.hpp"

#include <algorithm>

namespace simt {

AccessSites::AccessSites(const Program& program) : sites_(1) {
  begin_ = program.code_begin;
  size_ = program.code_end - program.code_begin;
  of_code_ = zeroed_table<Number>(size_);
}

AccessSites::Number AccessSites::append(const Site& site) {
  sites_.push_back(site);
  return static_cast<Number>(sites_.size() - 1);
}

AccessSites::Number AccessSites::add(std::size_t offset, const void* code, unsigned bytes, bool write) {
  const std::lock_guard lock(mutex_);
  const std::atomic_ref number(of_code_[offset]);
  if (number.load(std::memory_order_relaxed) == NONE) {
    number.store(append({code, {}, bytes, write, false, false}), std::memory_order_relaxed);
  }
  return number.load(std::memory_order_relaxed);
}

AccessSites::Number AccessSites::of_copy(const std::source_location& place, unsigned bytes, bool bulk) {
  const std::lock_guard lock(mutex_);
  const auto known = std::find_if(sites_.begin(), sites_.end(), [&](const Site& site) {
    return (bulk ? site.bulk : site.copy && site.write) && site.bytes == bytes &&
           site.place.file_name() == place.file_name() && site.place.line() == place.line() &&
           site.place.column() == place.column();
  });
  if (known != sites_.end()) {
    return static_cast<Number>(known - sites_.begin());
  }
  if (bulk) {
    return append({nullptr, place, bytes, false, false, true});
  }
  const Number number = append({nullptr, place, bytes, true, true, false});
  append({nullptr, place, bytes, false, true, false});
  return number;
}

AccessSites::Site AccessSites::operator[](Number number) const {
  const std::lock_guard lock(mutex_);
  return sites_[number];
}

std::pair<Memory, std::uint64_t> CountingContext::array_at(std::uint64_t address) const {
  for (std::size_t index = 0; index < arrays.size(); ++index) {
    const auto begin = reinterpret_cast<std::uintptr_t>(arrays[index].begin);
    if (address - begin < arrays[index].bytes()) {
      return {{false, static_cast<std::uint16_t>(index)}, begin};
    }
  }
  return {};
}

}  // namespace simt
