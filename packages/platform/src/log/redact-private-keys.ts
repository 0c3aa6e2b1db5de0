const begin = /-----BEGIN ([A-Z0-9 ]{0,64}PRIVATE KEY)-----(?! \[redacted\])/g;

/** Replaces the content of every PEM private key, up to its END line. Linear: reads each character once. */
export function redactPrivateKeys(text: string, replacement: string): string {
  let result = '';
  let copiedTo = 0;
  begin.lastIndex = 0;
  for (let match = begin.exec(text); match !== null; match = begin.exec(text)) {
    const [head, label = ''] = match;
    const end = endOfKey(text, match.index + head.length, `-----END ${label}-----`);
    result += `${text.slice(copiedTo, match.index)}${head} ${replacement}`;
    copiedTo = end;
    begin.lastIndex = end;
  }
  return copiedTo === 0 ? text : result + text.slice(copiedTo);
}

/** The end of the END line, or else of the key characters. Line breaks may be escaped repeatedly. */
function endOfKey(text: string, from: number, endLine: string): number {
  let at = from;
  while (at < text.length) {
    const character = text[at];
    if (character === '"') return at;
    if (character === '-' && text.startsWith(endLine, at)) return at + endLine.length;
    if (character === '\\') {
      let escapedAt = at;
      while (text[escapedAt] === '\\') escapedAt += 1;
      if (text[escapedAt] !== 'n' && text[escapedAt] !== 'r') return at;
      at = escapedAt;
    }
    at += 1;
  }
  return at;
}
