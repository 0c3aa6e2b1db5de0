/** Counts JSON values before parsing: a few megabytes of `1,1,1,…` become gigabytes of values and block the process. */

const [quote, backslash, comma, bracket, brace] = Buffer.from('"\\,[{');

/** Whether the JSON text has more than `most` values. The content of strings is skipped. */
export function hasMoreValuesThan(most: number, bytes: Buffer): boolean {
  let values = 1;
  for (let at = 0; at < bytes.length; at += 1) {
    const code = bytes[at];
    if (code === quote) at = endOfText(bytes, at + 1);
    else if (code === comma || code === bracket || code === brace) {
      values += 1;
      if (values > most) return true;
    }
  }
  return false;
}

/** Index of the closing quote, or the length if there is none. */
function endOfText(bytes: Buffer, from: number): number {
  let searchFrom = from;
  for (;;) {
    const at = bytes.indexOf('"', searchFrom);
    if (at < 0) return bytes.length;
    let escapes = 0;
    while (at - 1 - escapes >= from && bytes[at - 1 - escapes] === backslash) escapes += 1;
    if ((escapes & 1) === 0) return at;
    searchFrom = at + 1;
  }
}
