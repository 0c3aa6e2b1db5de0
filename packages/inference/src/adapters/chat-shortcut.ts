/**
 * Most events of a stream differ from the one before in their text alone. Once one has been read in full, those like it are
 * recognised by what stands around the text, and the text is passed on as it is, without being parsed or written anew.
 */
export interface Shortcut {
  readonly index: number;
  /** The event up to and with the quote that opens the text. */
  readonly head: string;
  /** From the quote that closes the text to the end of the choices. */
  readonly tail: string;
  /** What the client gets around the text. */
  readonly before: string;
  readonly after: string;
  /** Where the text that begins at `from` ends, if the tail follows it; -1 when the event is of another kind. */
  endOfText(text: string, from: number): number;
}

/** `data` is the event's JSON, which was read and found to bring one choice with nothing but text. Null: no way to tell. */
export function learnShortcut(
  data: string,
  field: string,
  index: number,
  around: { readonly before: string; readonly after: string },
): Shortcut | null {
  const key = `"${field}":"`;
  const at = data.indexOf(key);
  if (at < 0) return null;
  const from = at + key.length;
  const to = endOfPlainText(data, from);
  if (to < 0) return null;
  const closed = endOfChoices(data, to + 1);
  if (closed < 0) return null;
  const tail = data.slice(to, closed);
  return {
    index,
    head: `data: ${data.slice(0, from)}`,
    tail,
    ...around,
    endOfText(text, start) {
      const end = endOfPlainText(text, start);
      return end >= 0 && text.startsWith(tail, end) ? end : -1;
    },
  };
}

const quote = 34;
const backslash = 92;

/**
 * The closing quote of a JSON text, if writing that text anew would give the very same bytes: so no `\u` and no `\/`.
 * Otherwise -1.
 */
function endOfPlainText(text: string, from: number): number {
  for (let at = from; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if (code === quote) return at;
    if (code < 32) return -1;
    if (code === backslash) {
      at += 1;
      if (!isShortEscape(text.charCodeAt(at))) return -1;
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
function endOfChoices(data: string, from: number): number {
  let depth = 0;
  for (let at = from; at < data.length; at += 1) {
    switch (data.charCodeAt(at)) {
      case quote:
        at = endOfAnyText(data, at + 1);
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

function endOfAnyText(data: string, from: number): number {
  for (let at = from; at < data.length; at += 1) {
    const code = data.charCodeAt(at);
    if (code === quote) return at;
    if (code === backslash) at += 1;
  }
  return -1;
}
