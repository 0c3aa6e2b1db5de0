import { proseProblems } from '@millrace/lint/prose';
import { marked } from 'marked';
import type { Token, Tokens } from 'marked';

import type { Page } from './docs.ts';

export interface Prose {
  /** Paragraphs, list items and headings, without code. */
  readonly texts: readonly string[];
  readonly cells: readonly string[];
}

const codeMark = 'x';
const maxCellLength = 120;
const maxReadmeLines = 120;
const sentences = new Intl.Segmenter('en', { granularity: 'sentence' });

export function proseOf(markdown: string): Prose {
  const texts: string[] = [];
  const cells: string[] = [];
  void marked.walkTokens(marked.lexer(markdown), (token) => {
    if (token.type === 'paragraph' || token.type === 'heading') texts.push(plain(token as Tokens.Paragraph));
    // A loose list item contains a paragraph, which is visited separately.
    if (token.type === 'text' && 'tokens' in token) texts.push(plain(token as Tokens.Text));
    if (token.type === 'table') {
      const { header, rows } = token as Tokens.Table;
      cells.push(...[header, ...rows].flat().map((cell) => plain(cell)));
    }
  });
  return { texts, cells };
}

/** Code counts as one word, and its names are not read as prose. */
function plain({
  tokens = [],
  text = '',
}: {
  readonly tokens?: Token[] | undefined;
  readonly text?: string;
}): string {
  if (tokens.length === 0) return text;
  return tokens
    .map((token) => {
      if (token.type === 'codespan') return codeMark;
      if (token.type === 'br') return ' ';
      return plain(token as Tokens.Text);
    })
    .join('');
}

export function sentenceLengths(text: string): number[] {
  return [...sentences.segment(text.replaceAll(/\s+/g, ' '))]
    .map(({ segment }) => segment.split(' ').filter((word) => /\w/.test(word)).length)
    .filter((length) => length > 0);
}

export function percentile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0;
}

const hasShortCells = (file: string): boolean =>
  !file.includes('/') || /^docs\/(?:guides|runbooks)\//.test(file);
const isFeatureReadme = (file: string): boolean => /^(?:apps|packages)\/.*README\.md$/.test(file);

export function pageProseProblems({ file, text }: Page): string[] {
  const { texts, cells } = proseOf(text);
  const faults = [...texts, ...cells].flatMap(proseProblems);
  if (hasShortCells(file)) {
    const long = cells.filter((cell) => cell.length > maxCellLength);
    faults.push(...long.map((cell) => `a table cell has ${cell.length} characters: "${cell.slice(0, 40)}…"`));
  }
  const lines = text.split('\n').length - 1;
  if (isFeatureReadme(file) && lines > maxReadmeLines)
    faults.push(`${lines} lines; at most ${maxReadmeLines}`);
  return faults.map((fault) => `${file}: ${fault}`);
}
