#pragma once

#include <string>

namespace drop_in {

/// Redirects calls of cuBLAS that loaded shared objects of this file name make to the functions that the drop-in
/// exports for the version of cuBLAS that the object is linked to. Returns how many functions are redirected, also if
/// they were before, or -1 with errno set and nothing redirected.
///
/// A shared object calls others through addresses that the loader writes into its global offset table. These are
/// written anew. The objects stay loaded until undirect().
int redirect(const std::string& object);

/// Writes the addresses back, except those that somebody else has written since.
void undirect(const std::string& object);

}  // namespace drop_in
