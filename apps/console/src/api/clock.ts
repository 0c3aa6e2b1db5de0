/** The one place of the console that asks what time it is. */
export function nowMs(): number {
  return Date.now();
}
