/**
 * What a console shows beyond what was shown before. Only its end is ever told, so both texts are windows on the same output,
 * the later one further on: it begins somewhere in the earlier and goes on beyond it. When it does not, something between them
 * was missed, or the machine was switched on anew, and all of the later is new.
 */
export function newOutput(known: string, later: string): string {
  if (known === '') return later;
  const anchor = later.slice(0, anchorLength);
  // The first place at which they agree to the end of the earlier is where they have most in common.
  for (let at = known.indexOf(anchor); at >= 0; at = known.indexOf(anchor, at + 1)) {
    const common = known.length - at;
    if (later.startsWith(known.slice(at))) return later.slice(common);
  }
  return later.startsWith(known) ? later.slice(known.length) : later;
}

/** Long enough not to be found by chance all over the place. */
const anchorLength = 64;
