/** What machines write to their consoles, as text that can be kept and shown. Pure. */

/** How much of a console is kept, in bytes of UTF-8. */
export const CONSOLE_MAX_BYTES = 1_048_576;

/** Colours and movements of the cursor, titles of windows, and whatever else begins with an escape. */
const escapeSequences = /\u001B(?:\[[0-?]*[ -/]*[@-~]|\][^\u0007\u001B]*(?:\u0007|\u001B\\)?|[ -/]*[0-~])?/gu;
/** All that a terminal would obey but the end of a line and the tabulator; and what turns the order of text around. */
const controlCharacters = /(?![\n\t])\p{Cc}|\p{Bidi_Control}/gu;

/** Text that a terminal can be shown without harm. Whoever rents a machine decides what it writes. */
export function cleanConsole(text: string): string {
  return text
    .toWellFormed()
    .replaceAll('\r\n', '\n')
    .replaceAll(escapeSequences, '')
    .replaceAll(controlCharacters, '');
}

/** How much of the end of what is kept must be found again for it to be the same. */
const ANCHOR_CHARS = 512;

/**
 * What is kept and what was read now, as one. Some engines hand out everything each time and some only what is new, and
 * which of them it was shows in the text: where it holds the end of what is kept, it goes on from there.
 */
export function mergeConsole(stored: string, read: string): string {
  if (stored === '') return read;
  const anchor = stored.slice(-ANCHOR_CHARS);
  const found = read.indexOf(anchor);
  return found < 0 ? stored + read : stored + read.slice(found + anchor.length);
}

export interface ConsoleTail {
  readonly text: string;
  /** Whether something before it was left out. */
  readonly isCut: boolean;
}

/** The end of a text, at most so many bytes of UTF-8, beginning with a whole character. */
export function consoleTailOf(text: string, maxBytes: number): ConsoleTail {
  const bytes = Buffer.from(text, 'utf8');
  if (bytes.length <= maxBytes) return { text, isCut: false };
  let first = bytes.length - maxBytes;
  while (first < bytes.length && ((bytes[first] ?? 0) & 0xc0) === 0x80) first += 1;
  return { text: bytes.subarray(first).toString('utf8'), isCut: true };
}
