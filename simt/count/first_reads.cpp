#include "count/first_reads.hpp"

namespace simt {

void FirstReads::begin(const Launch& /*launch*/, std::uint64_t /*block*/) {
  missing_ = wanted_;
  found_.fill(NOT_READ);
}

Complaint FirstReads::access(ThreadNumber /*thread*/, const Access& access, const void* /*code*/) {
  if (!access.write) {
    read(access.address);
  }
  return {};
}

Complaint FirstReads::copy_starts(ThreadNumber /*thread*/, const Copy& copy, Site /*site*/) {
  if (copy.source != nullptr) {
    read(copy.source);
  }
  return {};
}

Complaint FirstReads::bulk_copy(ThreadNumber /*thread*/, const Copy& copy, const Phase& /*phase*/, Site /*site*/) {
  read(copy.source);
  return {};
}

void FirstReads::read(const void* address) {
  const auto at = reinterpret_cast<std::uintptr_t>(address);
  const std::size_t array = context_.array_of(at);
  if (array != CountingContext::OUTSIDE && (missing_ >> array & 1U) != 0) {
    missing_ &= ~(1U << array);
    found_[array] = static_cast<std::int64_t>(at - reinterpret_cast<std::uintptr_t>(context_.arrays[array].begin));
  }
  if (missing_ == 0) {
    stop_();
  }
}

}  // namespace simt
