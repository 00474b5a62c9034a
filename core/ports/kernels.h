#pragma once
// The table of kernel functions, on plain structs (docs/STYLE.md rules 14 to 17). Implemented by simd/, one table an ISA; the scalar
// table is the specification and every other one equals it to the bit. The numbers are defined in docs/ARCHITECTURE.md, "Numerics":
//  - integer products: an exact int32 sum over a unit, then acc = fma(float(sum), scale_w * scale_x, acc), units ascending, acc from 0;
//  - float dot products ("dot16"): 16 virtual lanes, lane l takes elements l, l+16, ... by fma ascending from 0; lanes fold 8, 4, 2, 1
//    (lane i += lane i+8 for i < 8, then i+4, i+2, i+1); a tail shorter than 16 leaves the lanes above it alone;
//  - sums over positions, experts or weight rows: ascending, one fma an element, from 0.
// Doors in core check shapes; kernels trust them. All functions are noexcept, allocate nothing, know no threads; rows are split by the caller
// (ranges that are multiples of kRowGrain rows are the fastest). No kernel reads past the last byte of a row, a scale or an activation.
// NaN: where one table gives NaN every table does; which NaN (sign, payload) is not defined. Everything else is equal to the bit, signed zeros
// and subnormals included (no table flushes them).

#include <cstddef>
#include <cstdint>

namespace sluice {

/// Rows of a weight matrix that the widest kernel computes at once.
constexpr int kRowGrain = 16;

enum class Isa { Scalar, Avx2, AvxVnni, Avx512Vnni, Amx };

/// What the bytes of a weight matrix mean. Matrices are row-major [rows, cols]; a row is rowBytes(format, cols) long.
enum class WeightFormat : std::uint8_t {
  F32,
  Bf16,
  F16,
  Fp8,   // e4m3fn bytes, one f32 scale a block of block_rows x block_cols
  Int8,  // two's complement
  Int4,  // offset binary, nibble - 8; even column = low nibble
  Int3,  // groups of 64 columns in 24 bytes: 16 bytes of two low bits (column k at bits 2*(k&3) of byte k>>2), then 8 bytes of one high bit
         // (column k at bit k&7 of byte k>>3); value = (low | high << 2) - 4; a row holds ceil(cols/64) groups
  Int2,  // ((byte >> 2*(col & 3)) & 3) - 2
};

/// True for formats whose products are integer products over `group`-wise scales.
constexpr bool isInteger(WeightFormat f) {
  switch (f) {
    case WeightFormat::F32:
    case WeightFormat::Bf16:
    case WeightFormat::F16:
    case WeightFormat::Fp8: return false;
    case WeightFormat::Int8:
    case WeightFormat::Int4:
    case WeightFormat::Int3:
    case WeightFormat::Int2: return true;
  }
  return false;
}

/// Bytes of one row.
constexpr std::uint64_t rowBytes(WeightFormat f, std::uint64_t cols) {
  switch (f) {
    case WeightFormat::F32: return cols * 4;
    case WeightFormat::Bf16:
    case WeightFormat::F16: return cols * 2;
    case WeightFormat::Fp8:
    case WeightFormat::Int8: return cols;
    case WeightFormat::Int4: return (cols + 1) / 2;
    case WeightFormat::Int3: return (cols + 63) / 64 * 24;
    case WeightFormat::Int2: return (cols + 3) / 4;
  }
  return 0;
}

/// A weight matrix where it lies (a slot of the cache, or resident memory). Owns nothing.
struct WeightMatrix {
  const std::byte* data = nullptr;  // any alignment, as the file has it
  const float* scales = nullptr;    // integer: [rows, ceil(cols/group)]; Fp8: [ceil(rows/block_rows), ceil(cols/block_cols)]; others: null. Any alignment
  int rows = 0, cols = 0;
  int group = 0;                          // integer: columns a scale, a multiple of 16, or >= cols for one scale a row
  int block_rows = 0, block_cols = 0;     // Fp8
  WeightFormat format = WeightFormat::F32;
};

/// Activations of one row, quantised for integer products, in a layout private to the ISA: `activation_bytes(cols, planes)` bytes,
/// 64-aligned. Meaning: per group of 64 columns, s = absmax/127 (1 plane) or absmax/32512 (2 planes); q = round-half-even(x * (1/s)), 0 where
/// absmax is 0 (s = 0). Groups of 64 start at column 0; the last may be partial. An absmax that is not finite makes s NaN, so that it shows.
/// A group so small that s is below 2^-126 (1/s could overflow) counts as zero: q = 0, s = 0.
struct QuantiseArgs {
  const float* x;       // [cols]
  std::byte* out;
  int cols, planes;     // planes 1 or 2
  int col_begin, col_end;  // the part to write: multiples of 64 (or cols), so that threads may share a row
};

/// y[s][o] = sum over units of exact(sum w*q) * (scale_w * scale_x), for o in [row_begin, row_end). The unit is the finest common refinement of the
/// weight's groups and the activation's groups of 64.
struct IntProductArgs {
  const WeightMatrix* w;      // an integer format
  const std::byte* const* x;  // [x_rows] quantised rows
  float* const* y;            // [x_rows], each [w->rows]
  int x_rows, planes;
  int row_begin, row_end;
};

/// y[s][o] = dot16(value(w[o]), x[s]) for o in [row_begin, row_end). Any format: integer and Fp8 weights are dequantised to f32 first
/// (float(code) * scale). This is the whole `--exact` path, and the router's and float checkpoints' path always.
struct FloatProductArgs {
  const WeightMatrix* w;
  const float* const* x;  // [x_rows], each [w->cols]
  float* const* y;        // [x_rows], each [w->rows]
  int x_rows;
  int row_begin, row_end;
};

/// y[s][c] = sum over r in [row_begin, row_end) ascending of fma(x[s][r - row_begin], value(w[r][c]), y), from 0. Any format, dequantised in registers.
struct TransposedProductArgs {
  const WeightMatrix* w;
  const float* const* x;  // [x_rows], each [row_end - row_begin]
  float* const* y;        // [x_rows], each [w->cols]
  int x_rows;
  int row_begin, row_end;
};

/// Writes row `row` of w as f32, out[cols] (embedding lookups).
struct DequantiseRowArgs {
  const WeightMatrix* w;
  int row;
  float* out;
};

/// out = x * (1 / sqrt(sum(x^2)/n + eps)) * weight: the square sum is dot16(x, x), the product is ((x * inv) * weight).
struct RmsNormArgs {
  const float* x;
  const float* weight;
  float* out;  // may be x
  int n;
  float eps;
};

/// mean = dot16-ordered sum / n; v = dot16(x-mean, x-mean)/n; out = fma(((x - mean) * (1/sqrt(v + eps))), weight, bias).
struct LayerNormArgs {
  const float* x;
  const float* weight;
  const float* bias;
  float* out;  // may be x
  int n;
  float eps;
};

/// Rotates pairs (2i, 2i+1) of each head in place: (a, b) -> (a*cos[i] - b*sin[i], a*sin[i] + b*cos[i]), spelled
/// a' = fma(a, cos, -(b*sin)), b' = fma(a, sin, b*cos).
struct RopePairsArgs {
  float* x;               // heads rows, `stride` floats apart, each [2*pairs] rotated
  const float* cosines;   // [pairs]
  const float* sines;     // [pairs]
  int heads, stride, pairs;
};

/// out[i] = silu(gate[i]) * up[i], silu(v) = v / (1 + exp(-v)) with the table's own exp.
struct SiluMulArgs {
  const float* gate;
  const float* up;
  float* out;  // may be gate or up
  int n;
};

/// x[i] = 1 / (1 + exp(-x[i])). exp is our polynomial in f32, within 2 ulp; it overflows to infinity and underflows through subnormals to 0.
struct SigmoidArgs {
  float* x;
  int n;
};

/// x = exp(x - max) / sum, max over all, the sum ascending one add an element; each exp then divided.
struct SoftmaxArgs {
  float* x;
  int n;
};

/// acc[i] = fma(weight, x[i], acc[i]).
struct AddScaledArgs {
  float* acc;
  const float* x;
  float weight;
  int n;
};

/// How cached rows are stored. I8: int8 codes with one f32 scale a row behind them (issue of the kv folder).
enum class RowFormat : std::uint8_t { F32, Bf16 };
constexpr std::uint64_t bytesOf(RowFormat f) { return f == RowFormat::F32 ? 4 : 2; }

/// f32 -> stored, round to nearest even; NaN stays NaN.
struct StoreRowArgs {
  const float* x;
  std::byte* out;
  int n;
  RowFormat format;
};

/// Cached rows of one sequence and layer, in slabs of `slab_rows` rows of `width` values, one after the other.
/// Row p lies at slabs[p / slab_rows] + (p % slab_rows) * width * bytesOf(format).
struct CachedRows {
  const std::byte* const* slabs = nullptr;
  int slab_rows = 1;
  int width = 0;
  RowFormat format = RowFormat::F32;
};

/// Absorbed attention of heads [head_begin, head_end) of one query row over chosen positions.
///   s[h][j] = scale * dot16(q[h], row(position j)[0, width)); a = softmax over j (as SoftmaxArgs);
///   out[h][c] = sum over j ascending of fma(a[j], row(j)[c], out), c in [0, latent).
struct LatentAttentionArgs {
  const float* q;            // [heads, width]: absorbed latent query, then the rotated query
  CachedRows rows;           // width = latent + rope
  const std::int32_t* positions;  // [count] ascending; null: 0 .. count-1
  int count;                 // >= 1
  int latent;
  float scale;
  int head_begin, head_end;
  float* scores;             // scratch [heads, scores_stride]
  int scores_stride;         // >= count
  float* out;                // [heads, latent]
};

/// out[j - begin] = sum over h ascending of fma(head_weights[h], relu(dot16(q[h], row j)), out) for j in [begin, end); relu(v) = v < 0 ? 0 : v,
/// so that NaN stays NaN.
struct IndexScoresArgs {
  const float* q;             // [heads, width]
  const float* head_weights;  // [heads], scale factors folded in
  CachedRows rows;
  int heads;
  int begin, end;
  float* out;                 // [end - begin]
};

/// The index of the largest value, ties to the lower index; -1 if any value is NaN or infinite.
struct ArgmaxArgs {
  const float* x;
  int n;
};

struct Kernels {
  const char* isa;  // "scalar", "avx2", "avxvnni", "avx512vnni", "amx"
  std::size_t (*activation_bytes)(int cols, int planes) noexcept;  // a multiple of 64
  void (*quantise)(const QuantiseArgs&) noexcept;
  void (*int_product)(const IntProductArgs&) noexcept;
  void (*float_product)(const FloatProductArgs&) noexcept;
  void (*transposed_product)(const TransposedProductArgs&) noexcept;
  void (*dequantise_row)(const DequantiseRowArgs&) noexcept;
  void (*rms_norm)(const RmsNormArgs&) noexcept;
  void (*layer_norm)(const LayerNormArgs&) noexcept;
  void (*rope_pairs)(const RopePairsArgs&) noexcept;
  void (*silu_mul)(const SiluMulArgs&) noexcept;
  void (*sigmoid)(const SigmoidArgs&) noexcept;
  void (*softmax)(const SoftmaxArgs&) noexcept;
  void (*add_scaled)(const AddScaledArgs&) noexcept;
  void (*store_row)(const StoreRowArgs&) noexcept;
  void (*latent_attention)(const LatentAttentionArgs&) noexcept;
  void (*index_scores)(const IndexScoresArgs&) noexcept;
  int (*argmax)(const ArgmaxArgs&) noexcept;
};

}  // namespace sluice
