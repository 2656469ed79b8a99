/* Included before all else in a libsgemm or a drop-in that runs with an older glibc (SGEMM_GLIBC): the versions of
 * these functions that glibc has had since 2.2.5. Those of 2.29 differ in how they report errors alone. */
#if defined(__x86_64__) && !defined(__CUDACC__)
__asm__(".symver exp, exp@GLIBC_2.2.5");
__asm__(".symver exp2, exp2@GLIBC_2.2.5");
__asm__(".symver log, log@GLIBC_2.2.5");
__asm__(".symver log2, log2@GLIBC_2.2.5");
__asm__(".symver pow, pow@GLIBC_2.2.5");
#endif
