import type { Context } from './context.ts';
import { UsageError } from './errors.ts';
import { truncateTo, padTo, safeLines, safeText, controlCharacters, widthOf } from './text.ts';

export type Cell = string | number | bigint | boolean | null | undefined;

export interface Column<Row> {
  /** The heading, also for `--columns`. */
  readonly name: string;
  readonly value: (row: Row) => Cell;
  readonly align?: 'right';
  /** Shown only with `--columns`. */
  readonly extra?: true;
  /** Colours the finished cell; its text is already safe to print. */
  readonly paint?: (text: string, row: Row) => string;
}

export interface ListOptions<Row> {
  /** Printed to standard error if the list is empty; names the next step. */
  readonly empty: string;
  /** The row in `--json` output; by default the row itself. */
  readonly json?: (row: Row) => unknown;
  /** A last line on standard error, such as the total or the next step. */
  readonly footer?: string;
}

/** Prints a table, or an array with `--json`. */
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

/** Prints one line per field, or the record with `--json`. */
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
    // Omit empty fields, unless the user asked for the column.
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

/** Prints one JSON object per line, for streams. */
export function printJsonLine(context: Pick<Context, 'io'>, value: unknown): void {
  context.io.out(`${jsonText(value)}\n`);
}

/** Escapes characters that control a terminal or change the direction of text; the JSON value stays the same. */
function jsonText(value: unknown, indent?: number): string {
  return JSON.stringify(value ?? null, jsonReplacer, indent).replace(controlCharacters, (character) =>
    character === '\n' ? character : `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}

/** Prints untrusted text: unchanged to a program, without control characters to a terminal. */
export function printText({ io }: Pick<Context, 'io'>, text: string): void {
  io.out(io.isTty ? safeLines(text) : text);
}

export function printBytes({ io }: Pick<Context, 'io'>, bytes: Uint8Array): void {
  if (io.isTty) throw new UsageError('A terminal cannot show this response. Write it to a file with > FILE.');
  io.outBytes(bytes);
}

/** Integers beyond the exact range of JSON numbers are strings, as in the API. */
function jsonReplacer(_key: string, value: unknown): unknown {
  return typeof value === 'bigint' ? value.toString() : value;
}

/** Prints the result of a change: the record with `--json`, otherwise one sentence. */
export function printResult(context: Context, sentence: string, record: unknown): void {
  if (context.output.format === 'json') printJson(context, record);
  else context.io.out(`${safeLines(sentence)}\n`);
}

function chooseColumns<Row>(context: Context, columns: readonly Column<Row>[]): readonly Column<Row>[] {
  const wanted = context.output.columns;
  if (wanted === undefined) return columns.filter((column) => column.extra !== true);
  if (context.output.format === 'json') {
    throw new UsageError('--columns works only with tables; --json prints every field.');
  }
  return wanted.map((name) => {
    const column = columns.find((known) => known.name.toLowerCase() === name.toLowerCase());
    if (column !== undefined) return column;
    const known = columns.map((each) => each.name).join(', ');
    throw new UsageError(`There is no column ${JSON.stringify(name)}. Columns: ${known}.`);
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
  // Do not spread into Math.max: a list can have more rows than a call can have arguments.
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

/** Shortens the widest columns until the line fits or none can be shortened further. */
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
