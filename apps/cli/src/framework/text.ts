/** Characters that control a terminal instead of being shown. */
export const controlCharacters = /[\p{Cc}\p{Bidi_Control}]/gu;

/**
 * Untrusted text (names, labels, messages) may contain escape sequences or characters that change the direction
 * of text. They are replaced, so that they never reach a terminal.
 */
export function safeText(text: string): string {
  return text.replace(controlCharacters, (character) => {
    if (character === '\n' || character === '\t') return ' ';
    return '\ufffd';
  });
}

/** Like `safeText`, but keeps line breaks. */
export function safeLines(text: string): string {
  return text
    .split(/\r?\n/)
    .map((line) => safeText(line))
    .join('\n');
}

/** Like `safeLines`, but keeps the styles of the CLI: bold, dim, colours. Other styles can hide text. */
export function safePainted(text: string): string {
  const pieces = text.split(/(\u001b\[(?:[0-2]|22|3[0-9])m)/);
  return pieces.map((part, index) => (index % 2 === 1 ? part : safeLines(part))).join('');
}

const styleEscapes = /\u001b\[[0-9;]*m/g;

export function stripStyles(text: string): string {
  return text.replace(styleEscapes, '');
}

const segmenter = new Intl.Segmenter('en', { granularity: 'grapheme' });
const wideCharacters =
  /[\u1100-\u115f\u2e80-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6]|\p{Emoji_Presentation}/u;

/** The number of terminal columns of the text. */
export function widthOf(text: string): number {
  const bare = stripStyles(text);
  if (/^[\u0020-\u007e]*$/.test(bare)) return bare.length;
  let width = 0;
  for (const { segment } of segmenter.segment(bare)) width += wideCharacters.test(segment) ? 2 : 1;
  return width;
}

export function padTo(text: string, width: number, align: 'left' | 'right' = 'left'): string {
  const padding = ' '.repeat(Math.max(0, width - widthOf(text)));
  return align === 'left' ? text + padding : padding + text;
}

/** Truncates to `width` columns with an ellipsis. */
export function truncateTo(text: string, width: number): string {
  if (widthOf(text) <= width) return text;
  let cut = '';
  let used = 0;
  for (const { segment } of segmenter.segment(stripStyles(text))) {
    const next = wideCharacters.test(segment) ? 2 : 1;
    if (used + next > width - 1) break;
    cut += segment;
    used += next;
  }
  return `${cut}…`;
}

/** Breaks text into lines of at most `width`; a longer word gets its own line. */
export function wrap(text: string, width: number): readonly string[] {
  const lines: string[] = [];
  let line = '';
  for (const word of text.split(/\s+/).filter((part) => part !== '')) {
    if (line === '') line = word;
    else if (widthOf(line) + 1 + widthOf(word) <= width) line += ` ${word}`;
    else {
      lines.push(line);
      line = word;
    }
  }
  return line === '' ? lines : [...lines, line];
}

/** "1 key", "3 keys". */
export function countText(n: number, one: string, many = `${one}s`): string {
  return `${String(n)} ${n === 1 ? one : many}`;
}
