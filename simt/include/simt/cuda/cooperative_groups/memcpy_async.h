#pragma once

// Stands in for CUDA's header of the same name: copies to shared memory by all threads of a group together.

#include <simt/group_copies.hpp>

#include <cooperative_groups.h>

namespace cooperative_groups {

template <class Group>
void memcpy_async(const Group& group, void* destination, const void* source, std::size_t bytes,
                  simt::Site site = simt::Site::current()) {
  simt::copy_by_group(group, destination, source, bytes, site);
  simt::commit_copies();
}

template <unsigned PENDING, class Group>
void wait_prior(const Group& group, simt::Site site = simt::Site::current()) {
  simt::wait_for_copies(PENDING);
  group.sync(site);
}
template <class Group>
void wait(const Group& group, simt::Site site = simt::Site::current()) {
  wait_prior<0>(group, site);
}

}  // namespace cooperative_groups
