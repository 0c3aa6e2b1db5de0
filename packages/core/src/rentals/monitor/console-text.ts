/** Cleans, merges and shortens console output of machines so that it can be stored and shown. Pure. */

/** Stored part of a console, in bytes of UTF-8. */
export const CONSOLE_MAX_BYTES = 1_048_576;

/** Colours, cursor movements, window titles and all other escape sequences. */
const escapeSequences = /\u001B(?:\[[0-?]*[ -/]*[@-~]|\][^\u0007\u001B]*(?:\u0007|\u001B\\)?|[ -/]*[0-~])?/gu;
/** Control characters except line feed and tab, and characters that change the text direction. */
const controlCharacters = /(?![\n\t])\p{Cc}|\p{Bidi_Control}/gu;

/** Makes text safe for terminals, because tenants control the output of their machines. */
export function cleanConsole(text: string): string {
  return text
    .toWellFormed()
    .replaceAll('\r\n', '\n')
    .replaceAll(escapeSequences, '')
    .replaceAll(controlCharacters, '');
}

/** How much of the end of the stored text must occur in the new text to be recognised. */
const ANCHOR_CHARS = 512;

/** Engines return all output or only new output. If the stored end occurs in `read`, the text continues from there. */
export function mergeConsole(stored: string, read: string): string {
  if (stored === '') return read;
  const anchor = stored.slice(-ANCHOR_CHARS);
  const found = read.indexOf(anchor);
  return found < 0 ? stored + read : stored + read.slice(found + anchor.length);
}

export interface ConsoleTail {
  readonly text: string;
  /** Whether earlier text was left out. */
  readonly isCut: boolean;
}

/** The end of a text of at most `maxBytes` of UTF-8, starting with a whole character. */
export function consoleTailOf(text: string, maxBytes: number): ConsoleTail {
  const bytes = Buffer.from(text, 'utf8');
  if (bytes.length <= maxBytes) return { text, isCut: false };
  let first = bytes.length - maxBytes;
  while (first < bytes.length && ((bytes[first] ?? 0) & 0xc0) === 0x80) first += 1;
  return { text: bytes.subarray(first).toString('utf8'), isCut: true };
}
