/**
 * Most events of a stream differ from the one before in their text alone. Once one has been read in full, those like it are
 * recognised by the bytes around the text, and the text is passed on as it is: not decoded, not parsed, not written anew.
 */
export interface StreamFastPath {
  readonly index: number;
  /** From the beginning of the choices to the quote that opens the text. What stands before goes to no client. */
  readonly anchor: Uint8Array;
  /** Where the anchor stands in the event. */
  readonly anchorAt: number;
  /** From the quote that closes the text to the end of the choices. What follows is read only for its counts. */
  readonly tail: Uint8Array;
  /** What the client gets around the text. */
  readonly before: Uint8Array;
  readonly after: Uint8Array;
}

const quote = 34;
const backslash = 92;
const dataPrefixLength = 'data: '.length;

/** `data` is the event's JSON, which was read and found to bring one choice with nothing but text. Null: no way to tell. */
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

/** Where the text of the event at `at` begins; -1 when it is of another kind. */
export function startOfText({ anchor, anchorAt }: StreamFastPath, bytes: Buffer, at: number): number {
  const from = at + anchorAt;
  return matchesAt(anchor, bytes, from) ? from + anchor.length : -1;
}

/** Where the text that begins at `from` ends; -1 when something else than more of the same follows it. */
export function endOfText({ tail }: StreamFastPath, bytes: Buffer, from: number): number {
  const to = endOfPlainText(bytes, from);
  return to >= 0 && matchesAt(tail, bytes, to) ? to : -1;
}

/** The event as the client gets it. */
export function spliceText(path: StreamFastPath, bytes: Buffer, from: number, to: number): Buffer {
  const { before, after } = path;
  const textAt = before.length;
  const afterAt = textAt + to - from;
  const event = Buffer.allocUnsafe(afterAt + after.length);
  event.set(before, 0);
  // A token has a few bytes: a loop is done with them before a call has begun.
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

/**
 * The closing quote of a JSON text, if writing that text anew would give the very same bytes: so no `\u` and no `\/`.
 * Otherwise -1.
 */
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

/** `"` `\` `b` `f` `n` `r` `t`: the escapes that a writer of JSON uses for itself. */
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

/** Where the list of choices is closed, from inside its only choice; -1 if it is not. */
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
