/**
 * How much there is in a JSON text, told before it is parsed. A few megabytes of `1,1,1,…` become gigabytes of values and
 * of complaints about each of them, and one such request would stop the process for everyone.
 */

const [quote, backslash, comma, bracket, brace] = Buffer.from('"\\,[{');

/** Whether the text holds more than so many values. Texts within it are stepped over, however long they are. */
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

/** Where the quote stands that closes a text; the end of all when none does. */
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
