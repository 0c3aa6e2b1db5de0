export function randomBelow(below: number): number {
  return (globalThis.crypto.getRandomValues(new Uint32Array(1))[0] ?? 0) % below;
}
