/** Draws screens of a terminal as one SVG that shows them in turn. */

export interface TerminalFrame {
  readonly text: string;
  readonly seconds: number;
}

const CELL_WIDTH = 8.4;
const LINE_HEIGHT = 18;
const PADDING = 16;

export function terminalSvg(frames: readonly TerminalFrame[]): string {
  const lines = Math.max(...frames.map(({ text }) => text.split('\n').length));
  const columns = Math.max(...frames.flatMap(({ text }) => text.split('\n').map((line) => line.length)));
  const width = Math.ceil(columns * CELL_WIDTH + 2 * PADDING);
  const height = lines * LINE_HEIGHT + 2 * PADDING;
  const total = frames.reduce((sum, { seconds }) => sum + seconds, 0);
  // Without animations, only the last screen is shown.
  const last = frames.length - 1;
  let from = 0;
  const rules: string[] = [];
  const groups = frames.map(({ text, seconds }, index) => {
    const [start, end] = [from, from + seconds].map((at) => `${((100 * at) / total).toFixed(2)}%`);
    from += seconds;
    rules.push(
      `@keyframes f${index}{0%{opacity:0}${start}{opacity:1}${end}{opacity:0}100%{opacity:0}}`,
      `.f${index}{opacity:${index === last ? 1 : 0};animation:f${index} ${total}s step-end infinite}`,
    );
    return `<g class="f${index}">${textOf(text)}</g>`;
  });
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" role="img">`,
    `<style>text{font:14px ui-monospace,Menlo,Consolas,monospace;fill:#e6e9ef;white-space:pre}.p{fill:#7ee0a8}`,
    ...rules,
    `@media (prefers-reduced-motion:reduce){g{animation:none!important}}</style>`,
    `<rect width="100%" height="100%" rx="8" fill="#12161f"/>`,
    ...groups,
    '</svg>\n',
  ].join('\n');
}

function textOf(text: string): string {
  return text
    .split('\n')
    .map((line, index) => {
      const y = PADDING + (index + 0.8) * LINE_HEIGHT;
      const style = line.startsWith('$ ') ? ' class="p"' : '';
      return line === ''
        ? ''
        : `<text x="${PADDING}" y="${y.toFixed(1)}"${style} xml:space="preserve">${escaped(line)}</text>`;
    })
    .join('');
}

function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}
