#ifndef SGEMM_SGEMM_H
#define SGEMM_SGEMM_H

/* libsgemm: C = alpha * op(A) * op(B) + beta * C for matrices of FP32 numbers in the memory of an NVIDIA GPU.
 *
 * The interface follows cuBLAS: calls enqueue work on the stream of a handle and return without waiting for it. They
 * differ in three ways. Matrices may be row-major. The caller chooses how accurate a product has to be. The library
 * takes the fastest algorithm that keeps the promise, and those of cuBLAS are among them.
 *
 * Rules for all functions:
 *   - A call that does not return SGEMM_STATUS_SUCCESS because of its arguments enqueues nothing and writes nothing.
 *   - The handle's device has to be current. It is the device that was current in sgemm_create().
 *   - Several host threads may work at the same time if each has a handle of its own. Only one thread at a time may
 *     use a handle, as in cuBLAS.
 *   - The same call with the same numbers on the same device, with the same settings of the handle, gives the same bits
 *     every time: no order of sums depends on the course of threads, streams or other calls. Other versions of
 *     the library or of cuBLAS may give other bits, and so may another workspace. There are two exceptions, unless
 *     the handle is repeatable (sgemm_set_repeatable()): where there is no room to work in, another algorithm or
 *     cuBLAS gets the call, and where operands with Inf, NaN or numbers far apart made calls slower than cuBLAS, cuBLAS
 *     gets it. Their bits are others.
 *   - All calls may be captured into a CUDA graph, except sgemm_create(), sgemm_destroy() and the handle's first call
 *     that cuBLAS gets, which is NOT_SUPPORTED there. After a plan of such a call it may be captured as well.
 *   - No function needs a header of CUDA. An sgemm_stream_t is a cudaStream_t.
 */

#include <stddef.h>
#include <stdint.h>

/* The version of this header. sgemm_version() has the version of the library that is linked. */
#define SGEMM_VERSION_MAJOR 0
#define SGEMM_VERSION_MINOR 4
#define SGEMM_VERSION_PATCH 0
#define SGEMM_VERSION (SGEMM_VERSION_MAJOR * 10000 + SGEMM_VERSION_MINOR * 100 + SGEMM_VERSION_PATCH)

#if defined(__GNUC__)
#define SGEMM_API __attribute__((visibility("default")))
#else
#define SGEMM_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* A stream of CUDA's runtime or driver. Null is the default stream. */
typedef struct CUstream_st* sgemm_stream_t;

/* The settings below, and the memory that the library keeps for them. */
typedef struct sgemm_context* sgemm_handle_t;

/* What became of a call. The numbers are those of cublasStatus_t. */
typedef enum {
  SGEMM_STATUS_SUCCESS = 0,
  SGEMM_STATUS_NOT_INITIALIZED = 1,   /* the handle is null, of a process that has forked this one, or of a device
                                         that was reset since; or there is no usable GPU or driver */
  SGEMM_STATUS_ALLOC_FAILED = 3,      /* no room in the memory of the host or of the GPU */
  SGEMM_STATUS_INVALID_VALUE = 7,     /* an argument is wrong; each function says which are */
  SGEMM_STATUS_ARCH_MISMATCH = 8,     /* the current device is not the handle's */
  SGEMM_STATUS_EXECUTION_FAILED = 13, /* CUDA refused to enqueue the work. Of a batch, some products may be in C
                                         already */
  SGEMM_STATUS_INTERNAL_ERROR = 14,   /* an error in the library, or in cuBLAS */
  SGEMM_STATUS_NOT_SUPPORTED = 15     /* it would take cuBLAS, and that was not found, or the handle's fallback is
                                         none; or it is to be reproducible, and there is no kernel for the device */
} sgemm_status_t;

/* How a matrix lies in memory. The numbers are those of CBLAS. */
typedef enum {
  SGEMM_ORDER_ROW_MAJOR = 101,   /* element (i, j) is at [i * ld + j] */
  SGEMM_ORDER_COLUMN_MAJOR = 102 /* element (i, j) is at [i + j * ld] */
} sgemm_order_t;

/* op(X) is X or its transpose. The numbers are those of cublasOperation_t. C means T for real numbers. */
typedef enum { SGEMM_OP_N = 0, SGEMM_OP_T = 1, SGEMM_OP_C = 2 } sgemm_op_t;

/* How accurate a product is. The bounds are those of one element of C. They are in terms of
 *   eps = 2^-24, the unit roundoff of FP32,
 *   S   = |alpha| |op(A)| |op(B)| + |beta| |C|, the size of the terms of the element's sum.
 * The square roots assume that roundings average out. They do not where a few terms are nearly all of a sum, or where
 * nearly equal products are added one after the other, which cuBLAS and all accuracies here may do. With k instead of
 * 2 sqrt(k) the bounds hold without that assumption. A product whose value overflows is Inf as in BLAS, and so are Inf
 * and NaN in operands what they are in BLAS.
 *
 * All bounds but that of FP32 have one more term: 2^-139 k |alpha| max|op(A)| max|op(B)|, where the largest numbers are
 * those of the whole matrices. So digits are lost in products that lie 34 decades or more below the largest ones. It
 * shows only in elements that have no larger products. All leave out that products and sums below 2^-126 are rounded to
 * multiples of 2^-149: (k |alpha| + 2) 2^-149 more at most.
 */
typedef enum {
  /* FP32 multiplications and additions as IEEE 754 has them, in any order: an error of at most (4 + 2 sqrt(k)) eps S.
   */
  SGEMM_ACCURACY_FP32 = 0,
  /* At most (148 + 2 sqrt(k)) eps S, for operands of any size. In practice the error is smaller than that of
   * FP32, as sums have fewer roundings. docs/library.md has the proof. This is the default. */
  SGEMM_ACCURACY_COMPONENTWISE = 1,
  /* Faster. An element's error may also be relative to the largest numbers of its row of op(A) and its column of
   * op(B): at most (148 + 2 sqrt(k)) eps S + 2 k eps |alpha| max|op(A)(i, :)| max|op(B)(:, j)|. Operands whose rows
   * and columns do not span many decades have the error of SGEMM_ACCURACY_COMPONENTWISE. */
  SGEMM_ACCURACY_NORMWISE = 2,
  /* The fastest for large products. The numbers of a row of op(A), or of a column of op(B), have one scale in common,
   * and what is far below the largest of them loses all of its digits: an error of at most
   * (148 + 2 sqrt(k)) eps S + 12.2 k eps |alpha| max|op(A)(i, :)| max|op(B)(:, j)|. With NORMWISE only numbers among 64
   * neighbours along k have a scale in common. */
  SGEMM_ACCURACY_ROWWISE = 3,
  /* The same bits everywhere. An element of C depends on its row of op(A), its column of op(B), alpha, beta, its old
   * value and k, and on nothing else: not on m, n, the batch, its place, leading dimensions, alignment, layouts, the
   * stream or the number of multiprocessors, nor on the GPU. So equal rows of op(A) give equal rows of C, and A times
   * its transpose is symmetric, which no other accuracy promises. docs/15_reproducible.md defines it. The error is at
   * most that of SGEMM_ACCURACY_ROWWISE. cuBLAS never gets such a call: where the library has no kernel for the device,
   * it is NOT_SUPPORTED, also with SGEMM_FALLBACK_CUBLAS, and ALLOC_FAILED where there is no room. */
  SGEMM_ACCURACY_REPRODUCIBLE = 4
} sgemm_accuracy_t;

/* Where alpha and beta are. The numbers are those of cublasPointerMode_t. */
typedef enum {
  SGEMM_POINTER_MODE_HOST = 0,  /* in the host's memory; they are read before the call returns */
  SGEMM_POINTER_MODE_DEVICE = 1 /* in the GPU's memory; they are read by the work that the call enqueues */
} sgemm_pointer_mode_t;

/* Who computes a product that no kernel of the library is faster at, or that finds no memory. */
typedef enum {
  SGEMM_FALLBACK_CUBLAS = 0, /* cuBLAS */
  SGEMM_FALLBACK_NONE = 1    /* the caller: the call enqueues nothing and is SGEMM_STATUS_NOT_SUPPORTED */
} sgemm_fallback_t;

/* ---- The library and its handles ---- */

/* SGEMM_VERSION of the library. */
SGEMM_API int sgemm_version(void);

/* The version of the cuBLAS that the library calls, in the same form, and its file. Both outlive all handles. 0 and "":
 * none was found. It is that of CUDA 12 or 13, and the first of these: the file that the environment variable
 * SGEMM_CUBLAS names, and no other then; one that the process has loaded; the one that the loader finds; that of the
 * toolkit in CUDA_HOME, CUDA_PATH or /usr/local/cuda. It is looked for once: by these functions, by the first
 * call or plan that is cuBLAS's, and where there is a calibration, which holds for one version of it. */
SGEMM_API int sgemm_cublas_version(void);
SGEMM_API const char* sgemm_cublas_path(void);

/* The name of a status ("SGEMM_STATUS_SUCCESS") and a sentence about it. The text lives as long as the program. A
 * number that is no status gives a text that says so. */
SGEMM_API const char* sgemm_status_name(sgemm_status_t status);
SGEMM_API const char* sgemm_status_string(sgemm_status_t status);

/* Makes a handle for the current device. Its stream is the default stream, its accuracy SGEMM_ACCURACY_COMPONENTWISE
 * and its pointer mode SGEMM_POINTER_MODE_HOST. It has no workspace.
 * INVALID_VALUE: `handle` is null. NOT_INITIALIZED: there is no usable device. */
SGEMM_API sgemm_status_t sgemm_create(sgemm_handle_t* handle);

/* Frees a handle. Work that was enqueued through it goes on. A null handle is NOT_INITIALIZED, and so is one of another
 * process or of a device that was reset since, of which nothing is freed: its CUDA objects are gone. */
SGEMM_API sgemm_status_t sgemm_destroy(sgemm_handle_t handle);

/* ---- Settings. Each holds until it is set again. The getters write to `*value`, which must not be null
 * (INVALID_VALUE). Setters refuse an enumerator that does not exist in the same way. ---- */

/* The stream that calls enqueue work on. It belongs to the handle's device. */
SGEMM_API sgemm_status_t sgemm_set_stream(sgemm_handle_t handle, sgemm_stream_t stream);
SGEMM_API sgemm_status_t sgemm_get_stream(sgemm_handle_t handle, sgemm_stream_t* value);

SGEMM_API sgemm_status_t sgemm_set_accuracy(sgemm_handle_t handle, sgemm_accuracy_t accuracy);
SGEMM_API sgemm_status_t sgemm_get_accuracy(sgemm_handle_t handle, sgemm_accuracy_t* value);

SGEMM_API sgemm_status_t sgemm_set_pointer_mode(sgemm_handle_t handle, sgemm_pointer_mode_t mode);
SGEMM_API sgemm_status_t sgemm_get_pointer_mode(sgemm_handle_t handle, sgemm_pointer_mode_t* value);

/* SGEMM_FALLBACK_CUBLAS at first. A program that has a cuBLAS of its own may want its own handle and workspace there.
 * The library makes a handle of cuBLAS, which takes some 64 MiB, in the first call or plan that has cuBLAS compute. */
SGEMM_API sgemm_status_t sgemm_set_fallback(sgemm_handle_t handle, sgemm_fallback_t fallback);
SGEMM_API sgemm_status_t sgemm_get_fallback(sgemm_handle_t handle, sgemm_fallback_t* value);

/* The memory on the GPU that calls work in. Its content need not be set, and does not matter between calls. It must
 * not be used by work on another stream at the same time. `workspace` has to be aligned to SGEMM_WORKSPACE_ALIGNMENT
 * bytes, and only a null one has 0 bytes (INVALID_VALUE otherwise). Where `bytes` is too few for a product, the library
 * takes an algorithm that needs less, at last that of cuBLAS: it allocates nothing.
 *
 * A null `workspace` with 0 bytes is the state after sgemm_create(): calls allocate what they need in the order of the
 * stream (cudaMallocAsync), and nothing waits for that. The memory comes from a pool, which all handles of a device
 * with the same sgemm_set_memory_limit() share. The pool keeps some of what was freed for the next call, until
 * sgemm_trim() or the end of the last handle. A call never waits for another stream to get memory. If there is no room,
 * an algorithm in FP32 gets the call that needs none, on all multiprocessors; before compute capability 9.0 that is
 * cuBLAS. A call that is captured into a graph works in memory that the graph holds until it is destroyed. */
#define SGEMM_WORKSPACE_ALIGNMENT 256
SGEMM_API sgemm_status_t sgemm_set_workspace(sgemm_handle_t handle, void* workspace, size_t bytes);

/* What the handles of a device with this limit use and keep together, in bytes; SIZE_MAX: there is no limit. A call
 * that would need more takes an algorithm that needs less, at last that of cuBLAS. With a limit, the code of the
 * algorithm that needs no memory is loaded at once: loading it in a call would wait for all streams.
 * The environment variable SGEMM_MEMORY has the value of a new handle: "512M", "2G". */
SGEMM_API sgemm_status_t sgemm_set_memory_limit(sgemm_handle_t handle, size_t bytes);
SGEMM_API sgemm_status_t sgemm_get_memory_limit(sgemm_handle_t handle, size_t* value);

/* 1: the same call with the same settings gives the same bits, in this process and in others, or fails.
 *   - A call that finds no room to work in is ALLOC_FAILED and writes nothing: another algorithm would have other bits.
 *   - Memory that a call has worked in stays with the handle, for calls that need no more, so that the same call finds
 *     room again.
 *   - What operands hold makes no call cuBLAS's.
 * 0: there are the exceptions above, and memory that stayed goes back to the pool. A new handle has 1 if the
 * environment variable SGEMM_REPEATABLE is set, and not to 0. Other numbers are INVALID_VALUE. */
SGEMM_API sgemm_status_t sgemm_set_repeatable(sgemm_handle_t handle, int repeatable);
SGEMM_API sgemm_status_t sgemm_get_repeatable(sgemm_handle_t handle, int* value);

/* Gives the memory that is kept for calls of the device's handles with the same limit, and that no work uses, back to
 * the system. What stays with a repeatable handle is not among it. */
SGEMM_API sgemm_status_t sgemm_trim(sgemm_handle_t handle);

/* The device that the handle was made on, as cudaGetDevice() counts. */
SGEMM_API sgemm_status_t sgemm_get_device(sgemm_handle_t handle, int* value);

/* The number of multiprocessors that kernels of the library are planned for; 0, the default, is all of them. A smaller
 * number leaves room for work on other streams. cuBLAS gets it as its SmCountTarget. A negative number, or more than
 * the device has, is INVALID_VALUE. */
SGEMM_API sgemm_status_t sgemm_set_multiprocessors(sgemm_handle_t handle, int multiprocessors);
SGEMM_API sgemm_status_t sgemm_get_multiprocessors(sgemm_handle_t handle, int* value);

/* ---- Products ---- */

/* C = alpha * op(A) * op(B) + beta * C, where op(A) is m x k, op(B) is k x n and C is m x n.
 *
 * `lda`, `ldb` and `ldc` are the distances between the starts of neighbouring columns, or rows if `order` is
 * SGEMM_ORDER_ROW_MAJOR, in elements. A is stored as m x k, or as k x m if it is transposed; B likewise.
 *
 * alpha and beta are on the host or on the GPU, as the pointer mode says. C is not read if beta is 0. A and B are not
 * read if k is 0, nor if alpha is 0 and on the host. If alpha is 0 and on the GPU, C does not depend on A and B,
 * although cuBLAS may read them. A call that cuBLAS gets needs memory for a copy of beta * C then. If there
 * is no room for it, and cuBLAS gets the call all the same, Inf and NaN in A and B make C NaN. C must not overlap A, B,
 * alpha, beta or the workspace. Elements between the rows or columns of C are not touched.
 *
 * Matrices need no alignment beyond that of a float. Aligned to 16 bytes, with leading dimensions that are multiples
 * of 4, they are read somewhat faster.
 *
 * INVALID_VALUE: an enumerator that does not exist; m, n or k below 0; a leading dimension below 1 or below the length
 * of a stored column (of a row, if row-major); an operand that is longer than 2^61 elements from its first to its last
 * one, of the whole batch, so that 64 bits do not hold its bytes; alpha or beta null; A, B or C null where it would be
 * read or written; a pointer that is not aligned to 4 bytes. Nothing is written for m or n = 0. */
SGEMM_API sgemm_status_t sgemm_gemm(sgemm_handle_t handle, sgemm_order_t order, sgemm_op_t transa, sgemm_op_t transb,
                                    int64_t m, int64_t n, int64_t k, const float* alpha, const float* a, int64_t lda,
                                    const float* b, int64_t ldb, const float* beta, float* c, int64_t ldc);

/* ---- Products with an epilogue: what is done to each element before it is stored ---- */

/* A function of an element's argument x = alpha * op(A) * op(B) + beta * C + bias. NaN stays NaN. */
typedef enum {
  SGEMM_ACTIVATION_NONE = 0,
  SGEMM_ACTIVATION_RELU = 1,          /* max(x, 0). If there is an `aux`, x >= 0 becomes a bit of the mask there */
  SGEMM_ACTIVATION_GELU = 2,          /* x / 2 (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3))). If there is an `aux`, x is
                                         stored there */
  SGEMM_ACTIVATION_RELU_GRADIENT = 3, /* x where the mask in `aux` has a bit, otherwise 0 */
  SGEMM_ACTIVATION_GELU_GRADIENT = 4  /* x times the derivative of GELU at the element of `aux` */
} sgemm_activation_t;

/* A bias has one number for each row of D, or one for each column. */
typedef enum { SGEMM_BIAS_OF_ROWS = 0, SGEMM_BIAS_OF_COLUMNS = 1 } sgemm_bias_t;

/* A mask has bits in place of elements: bit number i of the memory is the i % 8th lowest of byte i / 8. Its leading
 * dimension is in bits, and a multiple of this. */
#define SGEMM_MASK_ALIGNMENT 128

/* Epilogues are those of cuBLASLt with FP32: a product in column-major order with a bias of rows is its BIAS. Zeros
 * are no epilogue. */
typedef struct {
  sgemm_activation_t activation;
  sgemm_bias_t bias_of;
  const float* bias; /* m or n numbers in the GPU's memory; null: none */
  void* aux;         /* a matrix of the size and order of D in the GPU's memory: a mask with ReLU, floats with GELU. A
                        gradient needs one. Null: none */
  int64_t aux_ld;    /* its leading dimension, in elements or bits */
} sgemm_epilogue_t;

/* ---- Operands that are split once ---- */

/* Where the library computes on tensor cores, it first splits A and B into terms. A packed operand has its terms
 * already: that of a matrix which many products read, as the weights of a network. */
typedef struct sgemm_packed* sgemm_packed_t;

/* Where an operand stands in a product. */
typedef enum { SGEMM_SIDE_A = 1, SGEMM_SIDE_B = 2 } sgemm_side_t;

/* The bytes in the GPU's memory that a packed operand takes, for the handle's accuracy. `lines` are the rows of op(A),
 * which is lines x k, or the columns of op(B), which is k x lines.
 * INVALID_VALUE: `bytes` is null; lines or k below 1. NOT_SUPPORTED: no kernel of this accuracy reads packed operands
 * on the device. They exist for COMPONENTWISE, NORMWISE and ROWWISE on compute capability 9.0. */
SGEMM_API sgemm_status_t sgemm_packed_size(sgemm_handle_t handle, int64_t lines, int64_t k, size_t* bytes);

/* Enqueues the splitting of a matrix `x` into `memory`, of at least the bytes of sgemm_packed_size(), and makes an
 * object of the host for it. `side`, `order`, `op`, `lines`, `k` and `ld` say what op(A) or op(B) it is. The object
 * fits both sides and orders of a product, wherever op(X) has these lines along k. It has the accuracy of the handle.
 *
 * `x` and `memory` have to stay as they are as long as calls use the object: elements that tensor cores can not compute
 * are computed from `x`, and where another kernel is faster, it reads `x`. Work on other streams has to wait for that
 * of the handle's stream. Who changes `x` packs it again.
 *
 * INVALID_VALUE: as in sgemm_packed_size(); an enumerator that does not exist; a leading dimension as sgemm_gemm()
 * refuses it; `x` or `packed` null; `x` not aligned to 4 bytes; `memory` not aligned to SGEMM_WORKSPACE_ALIGNMENT
 * bytes, or fewer `bytes` than it takes. NOT_SUPPORTED: as in sgemm_packed_size(). */
SGEMM_API sgemm_status_t sgemm_pack(sgemm_handle_t handle, sgemm_order_t order, sgemm_side_t side, sgemm_op_t op,
                                    int64_t lines, int64_t k, const float* x, int64_t ld, void* memory, size_t bytes,
                                    sgemm_packed_t* packed);

/* Destroys the object. Its memory is the caller's, and has to stay until the work that reads it is done. A null one is
 * INVALID_VALUE. */
SGEMM_API sgemm_status_t sgemm_packed_destroy(sgemm_packed_t packed);

/* ---- All that a product may be: one of a batch, with an epilogue, of packed operands ---- */

/* A or B. */
typedef struct {
  sgemm_packed_t packed; /* null: none. If it is not null, nothing else is looked at */
  sgemm_op_t op;
  const float* x; /* in the GPU's memory */
  int64_t ld;
  int64_t stride;                /* in a batch: from one matrix to the next. 0: all products have the same */
  const float* const* addresses; /* in a batch: an array in the GPU's memory of all matrices' addresses, in place of
                                    `x` and `stride`, which are not looked at; null: none */
} sgemm_operand_t;

/* `batch_count` products D = activation(alpha * op(A) * op(B) + beta * C + bias). Whatever is 0 or null is not there.
 */
typedef struct {
  size_t size; /* sizeof(sgemm_product_t) */
  sgemm_order_t order;
  int64_t m;
  int64_t n;
  int64_t k;
  const float* alpha;
  sgemm_operand_t a;
  sgemm_operand_t b;
  const float* beta;
  const float* c; /* null: D */
  int64_t ldc;
  float* d;
  int64_t ldd;
  int64_t stride_of_d;
  float* const* addresses_of_d; /* null, unless A and B have addresses */
  int64_t batch_count;
  const sgemm_epilogue_t* epilogue; /* null: none */
} sgemm_product_t;

/* Enqueues a product, as sgemm_gemm() does, or a batch with the same scalars: number i has A at a.x + i * a.stride or
 * at a.addresses[i], and B and D likewise. The work that the call enqueues reads arrays of addresses, and looks at each
 * whether its matrix is aligned. The matrices D must not overlap each other. Packed operands, an epilogue and a C that
 * is not D are for a batch_count of 1 without addresses.
 *
 * Kernels that multiply apply an epilogue where they store D, where they have it (docs/library.md). Behind other
 * kernels and cuBLAS a pass over D follows. The bounds of an accuracy are those of the product. The epilogue's
 * functions are within a few eps of their arguments. With REPRODUCIBLE and a beta of 0, a bias has the bits that it has
 * as C with a beta of 1. Kernels that read packed terms compete with all others, and have the bits that they have in a
 * call without packed operands. Where alpha and beta are on the GPU, no packed terms are read.
 *
 * C is D itself, with the same leading dimension, or does not overlap it. It is not read if beta is 0 and on the host.
 * Neither of them overlaps `bias` or `aux`. In the last word of 32 bits of a row of the mask (of a column, if
 * column-major), bits beyond D become 0.
 *
 * INVALID_VALUE: `product` is null, or of another size; as in sgemm_gemm(), for an array of addresses in place of a
 * matrix, which has to be aligned to 8 bytes; batch_count or a stride below 0; with batch_count above 1, a stride_of_d
 * below the length of a column of D (of a row, if row-major), because the matrices overlap then; C is D with another
 * leading dimension; a packed operand of another device, of another accuracy than the handle's, of other lines or
 * another k, or of a library with another layout of terms; in an epilogue: an enumerator that does not exist; a
 * gradient without `aux`, or an `aux` without an activation; an aux_ld below the length of a column of D (of a row, if
 * row-major), or no multiple of SGEMM_MASK_ALIGNMENT for a mask; a pointer that is not aligned to 4 bytes.
 * EXECUTION_FAILED: D may hold the product without the epilogue. */
SGEMM_API sgemm_status_t sgemm_run(sgemm_handle_t handle, const sgemm_product_t* product);

/* ---- What a call would do ---- */

/* The algorithm that the library takes for a call. All texts are short, end with a zero and are for people and logs. */
typedef struct {
  char kernel[32];        /* "11_bf16x6": a chapter of the suite; "cublas"; "none" where there is nothing to compute,
                             or where the call would be NOT_SUPPORTED because it is to be reproducible */
  char configuration[64]; /* "128x256 stream-k": how the chapter divides the product; empty for others */
  char reason[128];       /* why: "predicted 102 us by 11_bf16x6, at least 270 us by cuBLAS" */
  int launches;           /* of the library's own kernels, and calls of cuBLAS; at most INT_MAX */
  size_t workspace_bytes; /* that it works in; cuBLAS has memory of its own, unless a workspace is set */
  double predicted_us;    /* time on the GPU in microseconds; 0 where there is no prediction */
  double cublas_us;       /* the same, if cuBLAS did it */
} sgemm_plan_t;

/* Tells in `*plan` what sgemm_run() would do, for alpha and beta that are not 0, and for matrices that are aligned to
 * 16 bytes. Only whether pointers are null is looked at. The times include a pass over D, where an epilogue takes one;
 * cuBLAS is taken to have the epilogue. Enqueues nothing.
 *
 * A caller that sets a workspace asks before with no workspace set, and gives the largest `workspace_bytes` of its
 * calls. INVALID_VALUE: as in sgemm_run(), or `plan` is null. */
SGEMM_API sgemm_status_t sgemm_plan(sgemm_handle_t handle, const sgemm_product_t* product, sgemm_plan_t* plan);

/* ---- Calibration ---- */

/* The predictions by which the library chooses have constants that were fitted to a few boards, and cautious ones for
 * all others. sgemm_calibrate() fits them to the current device instead: it measures products for at most a minute,
 * while nothing else should run there, and writes a file. A process reads the file before its first product on a
 * device, if it was made for this device, driver, cuBLAS and version of the library. Nothing is measured in any other
 * call.
 *
 * `file` is the file's path, or null for $XDG_CACHE_HOME/sgemm/<device>-<multiprocessors>.txt, or the same in ~/.cache.
 * The environment variable SGEMM_CALIBRATION names another file; with 0 none is read. `*text` becomes the path of the
 * file that was written, or the reason why there is none. It lives until the thread's next call.
 * INVALID_VALUE: `text` is null, or the file can not be written. */
SGEMM_API sgemm_status_t sgemm_calibrate(const char* file, const char** text);

/* For people: which file holds for the current device, and of when, or why there is none. It lives until the thread's
 * next call. */
SGEMM_API const char* sgemm_calibration(void);

#ifdef __cplusplus
}
#endif

#endif
