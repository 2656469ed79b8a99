#include "redirection.hpp"

#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <map>
#include <mutex>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

namespace drop_in {
namespace {

#if defined(__aarch64__)
constexpr ElfW(Word) kAddresses[] = {R_AARCH64_JUMP_SLOT, R_AARCH64_GLOB_DAT, R_AARCH64_ABS64};
#else
constexpr ElfW(Word) kAddresses[] = {R_X86_64_JUMP_SLOT, R_X86_64_GLOB_DAT, R_X86_64_64};
#endif

/// The address of a function of cuBLAS in the memory of a shared object.
struct Slot {
  void** address = nullptr;
  bool read_only = false;  // the loader has made its page so
  std::string function;
  std::string version;  // "libcublas.so.13", or empty
  std::string path;     // of the object

  void* before = nullptr;
  void* after = nullptr;
};

/// Objects stay loaded while their slots are written, and while they are redirected.
using Pin = void*;

struct Redirected {
  std::vector<Slot> slots;
  std::vector<Pin> pins;
};

std::mutex& mutex() {
  static auto* const made = new std::mutex;
  return *made;
}

std::map<std::string, Redirected>& redirected() {
  static auto* const made = new std::map<std::string, Redirected>;
  return *made;
}

std::string_view file_name(std::string_view path) { return path.substr(path.rfind('/') + 1); }

/// What the dynamic section of an object says.
class Dynamic {
 public:
  explicit Dynamic(const dl_phdr_info& info) : base_(info.dlpi_addr), path_(info.dlpi_name) {
    const ElfW(Dyn)* entry = nullptr;
    for (int i = 0; i < info.dlpi_phnum; ++i) {
      const ElfW(Phdr)& header = info.dlpi_phdr[i];
      if (header.p_type == PT_DYNAMIC) {
        entry = reinterpret_cast<const ElfW(Dyn)*>(base_ + header.p_vaddr);
      } else if (header.p_type == PT_GNU_RELRO) {
        const auto page = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
        read_only_begin_ = (base_ + header.p_vaddr) / page * page;
        read_only_end_ = (base_ + header.p_vaddr + header.p_memsz) / page * page;
      }
    }
    for (; entry != nullptr && entry->d_tag != DT_NULL; ++entry) {
      values_[entry->d_tag] = entry->d_un.d_val;
    }
    read_versions();
  }

  /// Appends the slots of functions of cuBLAS.
  void find_slots(std::vector<Slot>& slots) const {
    if (value(DT_PLTREL) == DT_RELA) {
      find_slots(DT_JMPREL, value(DT_PLTRELSZ), slots);
    }
    find_slots(DT_RELA, value(DT_RELASZ), slots);
  }

 private:
  uintptr_t value(int64_t tag) const {
    const auto found = values_.find(tag);
    return found == values_.end() ? 0 : found->second;
  }

  // Loaders differ in whether they have added the base.
  template <class Type>
  const Type* pointer(int64_t tag) const {
    const uintptr_t address = value(tag);
    return reinterpret_cast<const Type*>(address == 0 || address >= base_ ? address : base_ + address);
  }

  void read_versions() {
    const auto* need = pointer<char>(DT_VERNEED);
    for (uintptr_t i = 0; need != nullptr && i < value(DT_VERNEEDNUM); ++i) {
      const auto* const file = reinterpret_cast<const ElfW(Verneed)*>(need);
      const char* version = need + file->vn_aux;
      for (int j = 0; j < file->vn_cnt; ++j) {
        const auto* const named = reinterpret_cast<const ElfW(Vernaux)*>(version);
        versions_[named->vna_other] = pointer<char>(DT_STRTAB) + named->vna_name;
        version += named->vna_next;
      }
      need += file->vn_next;
    }
  }

  void find_slots(int64_t tag, uintptr_t bytes, std::vector<Slot>& slots) const {
    const auto* const relocations = pointer<ElfW(Rela)>(tag);
    const auto* const symbols = pointer<ElfW(Sym)>(DT_SYMTAB);
    const auto* const names = pointer<char>(DT_STRTAB);
    const auto* const versions = pointer<ElfW(Half)>(DT_VERSYM);
    if (relocations == nullptr || symbols == nullptr || names == nullptr) {
      return;
    }
    for (uintptr_t i = 0; i < bytes / sizeof *relocations; ++i) {
      const ElfW(Rela)& relocation = relocations[i];
      const auto type = static_cast<ElfW(Word)>(ELF64_R_TYPE(relocation.r_info));
      if (std::find(std::begin(kAddresses), std::end(kAddresses), type) == std::end(kAddresses)) {
        continue;
      }
      const auto index = ELF64_R_SYM(relocation.r_info);
      const char* const name = names + symbols[index].st_name;
      if (symbols[index].st_shndx != SHN_UNDEF || std::strncmp(name, "cublas", 6) != 0) {
        continue;
      }
      Slot slot;
      slot.address = reinterpret_cast<void**>(base_ + relocation.r_offset);
      const auto address = reinterpret_cast<uintptr_t>(slot.address);
      slot.read_only = address >= read_only_begin_ && address < read_only_end_;
      slot.function = name;
      const auto version = versions == nullptr ? versions_.end() : versions_.find(versions[index] & 0x7fff);
      slot.version = version == versions_.end() ? "" : version->second;
      slot.path = path_;
      slots.push_back(slot);
    }
  }

  uintptr_t base_;
  const char* path_;
  uintptr_t read_only_begin_ = 0;
  uintptr_t read_only_end_ = 0;
  std::map<int64_t, uintptr_t> values_;
  std::map<unsigned, const char*> versions_;  // by the number that symbols have
};

std::vector<Slot> slots_of(const std::string& object) {
  using Search = std::pair<const std::string&, std::vector<Slot>>;
  Search search{object, {}};
  dl_iterate_phdr(
      [](dl_phdr_info* info, size_t, void* argument) {
        auto& [wanted, slots] = *static_cast<Search*>(argument);
        if (file_name(info->dlpi_name) == wanted) {
          Dynamic(*info).find_slots(slots);
        }
        return 0;
      },
      &search);
  return search.second;
}

/// The drop-in itself. It is loaded for good from then on.
void* self() {
  static void* const handle = [] {
    static const char here = 0;
    Dl_info info{};
    return dladdr(&here, &info) == 0 ? nullptr : dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
  }();
  return handle;
}

void* own_function(const Slot& slot) {
  if (self() == nullptr) {
    return nullptr;
  }
  return slot.version.empty() ? dlsym(self(), slot.function.c_str())
                              : dlvsym(self(), slot.function.c_str(), slot.version.c_str());
}

// Threads that call meanwhile find the old address or the new one.
bool write(const Slot& slot, void* value) {
  const auto page = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
  void* const start = reinterpret_cast<void*>(reinterpret_cast<uintptr_t>(slot.address) / page * page);
  if (slot.read_only && mprotect(start, page, PROT_READ | PROT_WRITE) != 0) {
    return false;
  }
  __atomic_store_n(slot.address, value, __ATOMIC_RELEASE);
  if (slot.read_only) {
    mprotect(start, page, PROT_READ);
  }
  return true;
}

void write_back(Redirected& of_object) {
  for (const Slot& slot : of_object.slots) {
    if (*slot.address == slot.after) {
      write(slot, slot.before);
    }
  }
  for (const Pin pin : of_object.pins) {
    dlclose(pin);
  }
}

}  // namespace

int redirect(const std::string& object) {
  const std::lock_guard lock(mutex());
  std::set<std::string> functions;
  Redirected made;
  // Nothing of the loader may be called during its search.
  for (Slot& slot : slots_of(object)) {
    slot.after = own_function(slot);
    if (slot.after == nullptr) {
      continue;
    }
    // An object that was unloaded since is not found any more.
    const Pin pin = dlopen(slot.path.c_str(), RTLD_LAZY | RTLD_NOLOAD);
    if (pin == nullptr) {
      continue;
    }
    made.pins.push_back(pin);
    slot.before = *slot.address;
    if (slot.before != slot.after) {
      if (!write(slot, slot.after)) {
        const int error = errno;
        write_back(made);
        errno = error;
        return -1;
      }
      made.slots.push_back(slot);
    }
    functions.insert(slot.function);
  }
  Redirected& all = redirected()[object];
  all.slots.insert(all.slots.end(), made.slots.begin(), made.slots.end());
  all.pins.insert(all.pins.end(), made.pins.begin(), made.pins.end());
  return static_cast<int>(functions.size());
}

void undirect(const std::string& object) {
  const std::lock_guard lock(mutex());
  write_back(redirected()[object]);
  redirected().erase(object);
}

}  // namespace drop_in
