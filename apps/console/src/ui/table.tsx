import { memo, type ReactNode } from 'react';

export interface Column<Row> {
  readonly head: string;
  readonly cell: (row: Row) => ReactNode;
  /** Right-aligned, for numbers. */
  readonly right?: boolean;
  /** Names the row; comes first in the card on a small screen. */
  readonly main?: boolean;
}

interface TableProps<Row> {
  /** For screen readers. */
  readonly caption: string;
  readonly columns: readonly Column<Row>[];
  readonly rows: readonly Row[];
  /** Cards up to a large width, also with few columns: for wide cells, or a table beside a panel. */
  readonly isWide?: boolean;
}

export interface Identified {
  readonly id: string | number;
}

export interface Keyed<Row> {
  readonly rowKey: (row: Row) => string;
}

export const rowId = (row: unknown): string => String((row as Identified).id);

interface Layout {
  readonly frame: string;
  readonly table: string;
  readonly head: string;
  readonly body: string;
  readonly row: string;
  readonly cell: string;
  readonly rightCell: string;
  readonly label: string;
  readonly value: string;
  readonly leftValue: string;
  readonly rightValue: string;
}

/** Cards below the medium width. */
const few: Layout = {
  frame: 'md:overflow-x-auto',
  table: 'md:table',
  head: 'md:table-header-group',
  body: 'md:table-row-group',
  row: 'md:hover:bg-ground md:table-row md:px-0 md:py-0',
  cell: 'md:table-cell md:px-4 md:py-2.5 md:align-top',
  rightCell: 'md:text-right',
  label: 'md:hidden',
  value: 'md:text-inherit',
  leftValue: 'md:text-left',
  rightValue: 'md:text-right',
};

/** Cards up to a large width, because the last columns, often actions, would not be visible. */
const many: Layout = {
  frame: 'xl:overflow-x-auto',
  table: 'xl:table',
  head: 'xl:table-header-group',
  body: 'xl:table-row-group',
  row: 'xl:hover:bg-ground xl:table-row xl:px-0 xl:py-0',
  cell: 'xl:table-cell xl:px-4 xl:py-2.5 xl:align-top',
  rightCell: 'xl:text-right',
  label: 'xl:hidden',
  value: 'xl:text-inherit',
  leftValue: 'xl:text-left',
  rightValue: 'xl:text-right',
};

export const MANY_COLUMNS = 6;

const layoutOf = (columns: readonly unknown[], isWide: boolean): Layout =>
  isWide || columns.length >= MANY_COLUMNS ? many : few;

/** A table on wide screens and cards on narrow ones, always a table to screen readers. */
export function Table<Row extends Identified>(props: TableProps<Row>): ReactNode;
export function Table<Row>(props: TableProps<Row> & Keyed<Row>): ReactNode;
export function Table<Row>({
  caption,
  columns,
  rows,
  rowKey = rowId,
  isWide = false,
}: TableProps<Row> & Partial<Keyed<Row>>) {
  const layout = layoutOf(columns, isWide);
  return (
    // Scrolls instead of clipping columns. Positioned, so that it also clips texts for screen readers.
    <div className={`relative ${layout.frame}`}>
      <table role="table" className={`block w-full ${layout.table}`}>
        <caption className="sr-only">{caption}</caption>
        <thead role="rowgroup" className={`hidden ${layout.head}`}>
          <tr role="row" className="border-line border-b">
            {columns.map(({ head, right }) => (
              <th
                key={head}
                role="columnheader"
                scope="col"
                className={`text-soft px-4 py-2 text-xs font-medium ${right === true ? 'text-right' : 'text-left'}`}
              >
                {head}
              </th>
            ))}
          </tr>
        </thead>
        <tbody role="rowgroup" className={`block ${layout.body}`}>
          {rows.map((row) => (
            <MemoRow key={rowKey(row)} row={row} columns={columns} isWide={isWide} />
          ))}
        </tbody>
      </table>
    </div>
  );
}

interface TableRowProps<Row> {
  readonly row: Row;
  readonly columns: readonly Column<Row>[];
  readonly isWide: boolean;
}

function TableRow<Row>({ row, columns, isWide }: TableRowProps<Row>) {
  const layout = layoutOf(columns, isWide);
  return (
    <tr role="row" className={`border-line block border-b px-4 py-2 last:border-b-0 ${layout.row}`}>
      {columns.map(({ head, cell, right, main }) => (
        <td
          key={head}
          role="cell"
          className={`flex items-baseline justify-between gap-3 py-1 ${layout.cell} ${right === true ? `${layout.rightCell} tabular-nums` : ''} ${main === true ? 'font-medium' : ''}`}
        >
          <span
            aria-hidden
            className={`text-soft shrink-0 text-xs font-normal ${layout.label} ${main === true ? 'hidden' : ''}`}
          >
            {head}
          </span>
          <span
            className={`min-w-0 break-words ${layout.value} ${main === true ? '' : `text-right ${layout.leftValue}`} ${right === true ? layout.rightValue : ''}`}
          >
            {cell(row)}
          </span>
        </td>
      ))}
    </tr>
  );
}

/** Renders a row again only if its item changed, provided that the columns are a constant. */
const MemoRow = memo(TableRow) as typeof TableRow;
