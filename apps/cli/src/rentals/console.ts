/**
 * The part of `later` that `known` does not have. Both are windows on the end of the same output, so `later`
 * usually starts inside `known`. If it does not, output was missed or the machine rebooted, and all of it is
 * new.
 */
export function newOutput(known: string, later: string): string {
  if (known === '') return later;
  const anchor = later.slice(0, anchorLength);
  // The first position at which both agree up to the end of `known` gives the largest overlap.
  for (let at = known.indexOf(anchor); at >= 0; at = known.indexOf(anchor, at + 1)) {
    const common = known.length - at;
    if (later.startsWith(known.slice(at))) return later.slice(common);
  }
  return later.startsWith(known) ? later.slice(known.length) : later;
}

/** Long enough to be unique in practice. */
const anchorLength = 64;
