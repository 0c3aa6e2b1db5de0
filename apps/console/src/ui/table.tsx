import type { ReactNode } from 'react';

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
}

export interface Identified {
  readonly id: string | number;
}

export interface Keyed<Row> {
  readonly rowKey: (row: Row) => string;
}

export const rowId = (row: unknown): string => String((row as Identified).id);

/** A table on wide screens and cards on narrow ones, always a table to screen readers. */
export function Table<Row extends Identified>(props: TableProps<Row>): ReactNode;
export function Table<Row>(props: TableProps<Row> & Keyed<Row>): ReactNode;
export function Table<Row>({
  caption,
  columns,
  rows,
  rowKey = rowId,
}: TableProps<Row> & Partial<Keyed<Row>>) {
  return (
    // On medium widths, scroll instead of clipping columns.
    <div className="md:overflow-x-auto">
      <table role="table" className="block w-full md:table">
        <caption className="sr-only">{caption}</caption>
        <thead role="rowgroup" className="hidden md:table-header-group">
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
        <tbody role="rowgroup" className="block md:table-row-group">
          {rows.map((row) => (
            <tr
              key={rowKey(row)}
              role="row"
              className="border-line block border-b px-4 py-2 md:hover:bg-ground last:border-b-0 md:table-row md:px-0 md:py-0"
            >
              {columns.map(({ head, cell, right, main }) => (
                <td
                  key={head}
                  role="cell"
                  className={`flex justify-between gap-3 py-1 md:table-cell md:px-4 md:py-2.5 md:align-top ${right === true ? 'md:text-right tabular-nums' : ''} ${main === true ? 'font-medium' : ''}`}
                >
                  <span
                    aria-hidden
                    className={`text-soft shrink-0 text-xs font-normal md:hidden ${main === true ? 'hidden' : ''}`}
                  >
                    {head}
                  </span>
                  <span
                    className={`min-w-0 break-words md:text-inherit ${main === true ? '' : 'text-right md:text-left'} ${right === true ? 'md:text-right' : ''}`}
                  >
                    {cell(row)}
                  </span>
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
