import type { Context } from './context.ts';
import { UsageError } from './errors.ts';
import { truncateTo, padTo, safeLines, safeText, controlCharacters, widthOf } from './text.ts';

export type Cell = string | number | bigint | boolean | null | undefined;

export interface Column<Row> {
  /** What `--columns` and the heading call it. */
  readonly name: string;
  readonly value: (row: Row) => Cell;
  readonly align?: 'right';
  /** Shown only when `--columns` asks for it. */
  readonly extra?: true;
  /** Colours the finished cell; the text is already safe to print. */
  readonly paint?: (text: string, row: Row) => string;
}

export interface ListOptions<Row> {
  /** What to say, with the next step, when there is nothing. Goes to standard error. */
  readonly empty: string;
  /** What `--json` prints for a row; by default the row itself. */
  readonly json?: (row: Row) => unknown;
  /** A last line for people: how many there are in all, what to do next. Goes to standard error. */
  readonly footer?: string;
}

/** A list: a table for people, an array with `--json`. */
export function printList<Row>(
  context: Context,
  rows: readonly Row[],
  columns: readonly Column<Row>[],
  options: ListOptions<Row>,
): void {
  const chosen = chooseColumns(context, columns);
  if (context.output.format === 'json') {
    printJson(
      context,
      rows.map((row) => (options.json === undefined ? row : options.json(row))),
    );
    return;
  }
  if (rows.length === 0) context.note(options.empty);
  else context.io.out(renderTable(context, rows, chosen));
  if (options.footer !== undefined && rows.length > 0) context.note(options.footer);
}

/** One thing: a line per field for people, the record with `--json`. */
export function printRecord<Row>(
  context: Context,
  record: Row,
  columns: readonly Column<Row>[],
  options: { readonly json?: (row: Row) => unknown } = {},
): void {
  const chosen = chooseColumns(context, columns);
  if (context.output.format === 'json') {
    printJson(context, options.json === undefined ? record : options.json(record));
    return;
  }
  const width = Math.max(0, ...chosen.map(({ name }) => name.length)) + 2;
  const lines = chosen
    .map((column) => ({ column, text: cellText(column.value(record)) }))
    // A record is read by people: what is not there needs no line, unless it was asked for.
    .filter(({ text }) => text !== '' || context.output.columns !== undefined)
    .map(({ column, text }) => {
      const shown = column.paint === undefined ? text : column.paint(text, record);
      return `${context.io.paint('dim', padTo(column.name, width))}${shown}`;
    });
  context.io.out(`${lines.join('\n')}\n`);
}

export function printJson(context: Pick<Context, 'io'>, value: unknown): void {
  context.io.out(`${jsonText(value, 2)}\n`);
}

/** One object on a line of its own, for what arrives bit by bit. */
export function printJsonLine(context: Pick<Context, 'io'>, value: unknown): void {
  context.io.out(`${jsonText(value)}\n`);
}

/** JSON leaves characters as they are that steer some terminals, or turn the line around; written as escapes they mean the same. */
function jsonText(value: unknown, indent?: number): string {
  return JSON.stringify(value ?? null, jsonReplacer, indent).replace(controlCharacters, (character) =>
    character === '\n' ? character : `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}

/** Text of others as it is, for a program; for a terminal without what steers it. */
export function printText({ io }: Pick<Context, 'io'>, text: string): void {
  io.out(io.isTty ? safeLines(text) : text);
}

/** What is no text goes into a file or through a pipe. */
export function printBytes({ io }: Pick<Context, 'io'>, bytes: Uint8Array): void {
  if (io.isTty) throw new UsageError('A terminal cannot show this answer: send it into a file with > FILE.');
  io.outBytes(bytes);
}

/** Whole numbers beyond what JSON readers keep are text, as in the API. */
function jsonReplacer(_key: string, value: unknown): unknown {
  return typeof value === 'bigint' ? value.toString() : value;
}

/** The result of a change: the record with `--json`, else one sentence on standard output. */
export function printResult(context: Context, sentence: string, record: unknown): void {
  if (context.output.format === 'json') printJson(context, record);
  else context.io.out(`${safeLines(sentence)}\n`);
}

function chooseColumns<Row>(context: Context, columns: readonly Column<Row>[]): readonly Column<Row>[] {
  const wanted = context.output.columns;
  if (wanted === undefined) return columns.filter((column) => column.extra !== true);
  if (context.output.format === 'json') {
    throw new UsageError('--columns chooses columns of a table, and --json prints every field.');
  }
  return wanted.map((name) => {
    const column = columns.find((known) => known.name.toLowerCase() === name.toLowerCase());
    if (column !== undefined) return column;
    const known = columns.map((each) => each.name).join(', ');
    throw new UsageError(`There is no column ${JSON.stringify(name)}. There are: ${known}.`);
  });
}

function cellText(cell: Cell): string {
  if (cell === null || cell === undefined) return '';
  if (typeof cell === 'boolean') return cell ? 'yes' : 'no';
  return safeText(String(cell));
}

const GAP = '  ';
const MIN_TRUNCATED_WIDTH = 12;

function renderTable<Row>(
  { io }: Pick<Context, 'io'>,
  rows: readonly Row[],
  columns: readonly Column<Row>[],
): string {
  const cells = rows.map((row) => columns.map((column) => cellText(column.value(row))));
  // Not by spreading into Math.max: a list may have more rows than a call may have arguments.
  const natural = columns.map((column, index) =>
    cells.reduce((width, line) => Math.max(width, widthOf(line[index] ?? '')), widthOf(column.name)),
  );
  // Scripts get whole cells; a terminal gets lines that fit.
  const widths = io.isTty ? fitWidths(natural, io.columns) : natural;
  const line = (texts: readonly string[], paint: (text: string, index: number) => string): string =>
    texts
      .map((text, index) => {
        const width = widths[index] ?? 0;
        const isLast = index === texts.length - 1;
        const align = columns[index]?.align ?? 'left';
        const cut = truncateTo(text, width);
        const padded = isLast && align === 'left' ? cut : padTo(cut, width, align);
        return paint(padded, index);
      })
      .join(GAP)
      .trimEnd();
  const heading = line(
    columns.map(({ name }) => name.toUpperCase()),
    (text) => io.paint('dim', text),
  );
  const body = rows.map((row, index) =>
    line(cells[index] ?? [], (text, at) => columns[at]?.paint?.(text, row) ?? text),
  );
  return `${[heading, ...body].join('\n')}\n`;
}

/** Takes from the widest column, one by one, until the line fits or nothing can be spared. */
function fitWidths(natural: readonly number[], available: number): readonly number[] {
  const widths = [...natural];
  let over = widths.reduce((sum, width) => sum + width, 0) + GAP.length * (widths.length - 1) - available;
  while (over > 0) {
    const widest = Math.max(...widths);
    if (widest <= MIN_TRUNCATED_WIDTH) break;
    widths[widths.indexOf(widest)] = widest - 1;
    over -= 1;
  }
  return widths;
}
