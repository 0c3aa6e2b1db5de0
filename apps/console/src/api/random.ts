/** A whole number from 0 up to, and not, `below`. */
export function randomBelow(below: number): number {
  return (globalThis.crypto.getRandomValues(new Uint32Array(1))[0] ?? 0) % below;
}
