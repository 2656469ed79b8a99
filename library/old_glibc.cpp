// What the C++ library and the unwinder of a newer system ask of glibc, and headers of a newer C++ library of its
// library, for a libsgemm or a drop-in that runs with older ones (SGEMM_GLIBC). The names are theirs.

#include <dlfcn.h>
#include <link.h>

#include <cstdint>
#include <new>

/// Of GCC 11: what allocators call for more elements than there can be. A C++ library that is linked in has its own.
namespace std {
__attribute__((weak)) void __throw_bad_array_new_length() { throw bad_array_new_length(); }
}  // namespace std

/// Of glibc 2.32: whether there is one thread, so that counters need no atomic instructions. No is always right.
char __libc_single_threaded = 0;

#ifdef DLFO_STRUCT_HAS_EH_DBASE
namespace {

struct Search {
  std::uintptr_t address;
  dl_find_object* result;
};

/// 1 for the object that has the address, with the table that the unwinder begins with.
int look_into(dl_phdr_info* object, std::size_t /*size*/, void* search_pointer) {
  const auto& search = *static_cast<Search*>(search_pointer);
  const auto at = [&](const ElfW(Phdr) & segment) { return object->dlpi_addr + segment.p_vaddr; };
  const ElfW(Phdr)* code = nullptr;
  const ElfW(Phdr)* table = nullptr;
  for (int i = 0; i < object->dlpi_phnum; ++i) {
    const ElfW(Phdr)& segment = object->dlpi_phdr[i];
    if (segment.p_type == PT_LOAD && search.address - at(segment) < segment.p_memsz) {
      code = &segment;
    } else if (segment.p_type == PT_GNU_EH_FRAME) {
      table = &segment;
    }
  }
  if (code == nullptr || table == nullptr) {
    return 0;
  }
  *search.result = {};
  search.result->dlfo_map_start = reinterpret_cast<void*>(at(*code));
  search.result->dlfo_map_end = reinterpret_cast<void*>(at(*code) + code->p_memsz);
  search.result->dlfo_eh_frame = reinterpret_cast<void*>(at(*table));
  return 1;
}

}  // namespace

/// Of glibc 2.35: the object that an address of code is in.
extern "C" int _dl_find_object(void* address, dl_find_object* result) noexcept {
  Search search{reinterpret_cast<std::uintptr_t>(address), result};
  return dl_iterate_phdr(look_into, &search) == 1 ? 0 : -1;
}
#endif
