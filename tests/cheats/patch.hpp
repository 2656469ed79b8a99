// For cheats: puts a function in the place of an imported one, for all that the process has loaded.
#pragma once

#include <elf.h>
#include <link.h>
#include <string.h>
#include <sys/mman.h>

struct Replacement {
  const char* name;
  void* function;
};

inline int replace_imports_of(struct dl_phdr_info* info, size_t, void* given) {
  const Replacement& replacement = *static_cast<Replacement*>(given);
  const ElfW(Dyn)* dynamic = nullptr;
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    if (info->dlpi_phdr[i].p_type == PT_DYNAMIC) {
      dynamic = (const ElfW(Dyn)*)(info->dlpi_addr + info->dlpi_phdr[i].p_vaddr);
    }
  }
  const char* names = nullptr;
  const ElfW(Sym)* symbols = nullptr;
  const ElfW(Rela) * tables[2] = {};
  size_t bytes[2] = {};
  for (; dynamic && dynamic->d_tag != DT_NULL; ++dynamic) {
    const ElfW(Addr) at = dynamic->d_un.d_ptr;
    switch (dynamic->d_tag) {
      case DT_STRTAB:
        names = (const char*)at;
        break;
      case DT_SYMTAB:
        symbols = (const ElfW(Sym)*)at;
        break;
      case DT_JMPREL:
        tables[0] = (const ElfW(Rela)*)at;
        break;
      case DT_PLTRELSZ:
        bytes[0] = dynamic->d_un.d_val;
        break;
      case DT_RELA:
        tables[1] = (const ElfW(Rela)*)at;
        break;
      case DT_RELASZ:
        bytes[1] = dynamic->d_un.d_val;
        break;
    }
  }
  if (!names || !symbols || (size_t)names < info->dlpi_addr) {
    return 0;  // the kernel's own object has no addresses there
  }
  for (int table = 0; table < 2; ++table) {
    for (size_t i = 0; i < bytes[table] / sizeof(ElfW(Rela)); ++i) {
      const ElfW(Rela)& entry = tables[table][i];
      if (strcmp(names + symbols[ELF64_R_SYM(entry.r_info)].st_name, replacement.name) == 0) {
        void** const place = (void**)(info->dlpi_addr + entry.r_offset);
        mprotect((void*)((size_t)place & ~(size_t)4095), 4096, PROT_READ | PROT_WRITE);
        *place = replacement.function;
      }
    }
  }
  return 0;
}

inline void replace_imports(const char* name, void* function) {
  Replacement replacement{name, function};
  dl_iterate_phdr(replace_imports_of, &replacement);
}
