/** Sizes of hardware, in the same units on all pages. A GB of memory is 1024 MB, as its makers count. */

/** `96 GB`, `1,008 GB` */
export function memoryText(gb: number): string {
  return `${gb.toLocaleString()} GB`;
}

/** `500 GB`, `3.5 TB` */
export function diskText(gb: number): string {
  return gb < 1_000 ? `${String(gb)} GB` : `${(gb * 0.001).toFixed(1).replace(/\.0$/, '')} TB`;
}
