/**
 * Most events of a stream differ only in their text. After one is parsed, similar ones are recognised by the bytes around the
 * text, which is copied without parsing.
 */
export interface StreamFastPath {
  readonly index: number;
  /** From the start of the choices to the quote that opens the text. The bytes before are dropped. */
  readonly anchor: Uint8Array;
  /** Offset of the anchor in the event. */
  readonly anchorAt: number;
  /** From the quote that closes the text to the end of the choices. The bytes after are read only for counts. */
  readonly tail: Uint8Array;
  readonly before: Uint8Array;
  readonly after: Uint8Array;
}

const quote = 34;
const backslash = 92;
const dataPrefixLength = 'data: '.length;

/** `data` is the JSON of an event with one choice that has only text. Null if no fast path can be derived. */
export function learnFastPath(
  data: string,
  field: string,
  index: number,
  around: { readonly before: string; readonly after: string },
): StreamFastPath | null {
  const bytes = Buffer.from(data, 'utf8');
  const key = `"${field}":"`;
  const keyAt = bytes.indexOf(key);
  if (keyAt < 0) return null;
  const choicesAt = bytes.lastIndexOf('"choices":[{', keyAt);
  const from = keyAt + key.length;
  const to = endOfPlainText(bytes, from);
  if (choicesAt < 0 || to < 0) return null;
  const closed = endOfChoices(bytes, to + 1);
  if (closed < 0) return null;
  return {
    index,
    anchor: bytes.subarray(choicesAt, from),
    anchorAt: dataPrefixLength + choicesAt,
    tail: bytes.subarray(to, closed),
    before: Buffer.from(around.before, 'utf8'),
    after: Buffer.from(around.after, 'utf8'),
  };
}

/** Start of the text of the event at `at`; -1 if the event does not match. */
export function startOfText({ anchor, anchorAt }: StreamFastPath, bytes: Buffer, at: number): number {
  const from = at + anchorAt;
  return matchesAt(anchor, bytes, from) ? from + anchor.length : -1;
}

/** End of the text that starts at `from`; -1 if the bytes after it do not match. */
export function endOfText({ tail }: StreamFastPath, bytes: Buffer, from: number): number {
  const to = endOfPlainText(bytes, from);
  return to >= 0 && matchesAt(tail, bytes, to) ? to : -1;
}

export function spliceText(path: StreamFastPath, bytes: Buffer, from: number, to: number): Buffer {
  const { before, after } = path;
  const textAt = before.length;
  const afterAt = textAt + to - from;
  const event = Buffer.allocUnsafe(afterAt + after.length);
  event.set(before, 0);
  // Tokens have few bytes, so a loop is faster than a call of `copy`.
  for (let at = from; at < to; at += 1) event[textAt + at - from] = bytes[at] ?? 0;
  event.set(after, afterAt);
  return event;
}

function matchesAt(part: Uint8Array, bytes: Uint8Array, at: number): boolean {
  if (at + part.length > bytes.length) return false;
  for (let offset = 0; offset < part.length; offset += 1) {
    if (bytes[at + offset] !== part[offset]) return false;
  }
  return true;
}

/** The closing quote of a JSON text that reserialises to the same bytes (no `\u`, no `\/`); otherwise -1. */
function endOfPlainText(bytes: Uint8Array, from: number): number {
  for (let at = from; at < bytes.length; at += 1) {
    const code = bytes[at] ?? 0;
    if (code === quote) return at;
    if (code < 32) return -1;
    if (code === backslash) {
      at += 1;
      if (!isShortEscape(bytes[at] ?? 0)) return -1;
    }
  }
  return -1;
}

/** The escapes that JSON writers use: `"` `\` `b` `f` `n` `r` `t`. */
function isShortEscape(code: number): boolean {
  switch (code) {
    case quote:
    case backslash:
    case 98:
    case 102:
    case 110:
    case 114:
    case 116:
      return true;
    default:
      return false;
  }
}

/** End of the list of choices, from inside its only choice; -1 if it is not closed. */
function endOfChoices(bytes: Uint8Array, from: number): number {
  let depth = 0;
  for (let at = from; at < bytes.length; at += 1) {
    switch (bytes[at]) {
      case quote:
        at = endOfAnyText(bytes, at + 1);
        if (at < 0) return -1;
        break;
      case 123: // {
      case 91: // [
        depth += 1;
        break;
      case 125: // }
        depth -= 1;
        break;
      case 93: // ]
        depth -= 1;
        if (depth < -1) return at + 1;
        break;
      default:
    }
  }
  return -1;
}

function endOfAnyText(bytes: Uint8Array, from: number): number {
  for (let at = from; at < bytes.length; at += 1) {
    const code = bytes[at];
    if (code === quote) return at;
    if (code === backslash) at += 1;
  }
  return -1;
}
