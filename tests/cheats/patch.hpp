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
  size_t entries[DT_JMPREL + 1] = {};  // by their tags
  for (; dynamic && dynamic->d_tag != DT_NULL; ++dynamic) {
    if (dynamic->d_tag <= DT_JMPREL) {
      entries[dynamic->d_tag] = dynamic->d_un.d_ptr;
    }
  }
  const char* const names = (const char*)entries[DT_STRTAB];
  const ElfW(Sym)* const symbols = (const ElfW(Sym)*)entries[DT_SYMTAB];
  const ElfW(Rela)* const tables[] = {(const ElfW(Rela)*)entries[DT_JMPREL], (const ElfW(Rela)*)entries[DT_RELA]};
  const size_t bytes[] = {entries[DT_PLTRELSZ], entries[DT_RELASZ]};
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
