/** Computes the sizes in docs/explanation/table-growth.md from its drivers, rows, periods and bytes per row. */

const foreverDays = 3 * 365;

interface Driver {
  readonly isStock: boolean;
  readonly count: number;
}

const cellsOf = (line: string): readonly string[] =>
  line
    .split('|')
    .slice(1, -1)
    .map((cell) => cell.trim());
const numberIn = (cell: string): number => Number(cell.replaceAll(' ', '').replace('*', ''));

function driversIn(text: string): ReadonlyMap<string, Driver> {
  const drivers = new Map<string, Driver>();
  for (const line of text.split('\n')) {
    const [name = '', kind = '', count = ''] = cellsOf(line);
    if (kind === 'stock' || kind === 'a day')
      drivers.set(name, { isStock: kind === 'stock', count: numberIn(count) });
  }
  return drivers;
}

const isTableLine = (line: string): boolean => /^\| `[a-z_0-9]+`/.test(line);

/** The tables that the page lists. */
export function tablesInPage(text: string): readonly string[] {
  const names = text
    .split('\n')
    .filter(isTableLine)
    .map((line) => (cellsOf(line)[0] ?? '').replaceAll('`', ''));
  return [...new Set(names)];
}

/** The tables of a schema, without partitions. */
export function tablesInSchema(schema: string): readonly string[] {
  const partitions = new Set(
    [...schema.matchAll(/ATTACH PARTITION public\.([a-z_0-9]+)/g)].map((match) => match[1]),
  );
  return [...schema.matchAll(/^CREATE TABLE public\.([a-z_0-9]+)/gm)].flatMap(([, name = '']) =>
    partitions.has(name) ? [] : [name],
  );
}

function gigabytesOf(cells: readonly string[], drivers: ReadonlyMap<string, Driver>): number {
  const [table, rows = '', driverName = '', period = '', bytes = ''] = cells;
  const driver = drivers.get(driverName);
  if (driver === undefined) throw new Error(`${table}: no driver is named ${driverName}.`);
  if (driver.isStock !== (period === '-')) throw new Error(`${table}: only a stock has "-" as its period.`);
  const days = driver.isStock ? 1 : Math.min(foreverDays, period === 'ever' ? Infinity : numberIn(period));
  const size = (numberIn(rows) * driver.count * days * numberIn(bytes)) / 1e9;
  if (!Number.isFinite(size)) throw new Error(`${table}: a cell is not a number.`);
  return size;
}

/** The page with the size of each table and their sum. */
export function renderSizes(text: string): string {
  const drivers = driversIn(text);
  let sum = 0;
  const withSize = (line: string, size: number): string => {
    const cells = line.split('|');
    const old = cells[6] ?? '';
    const value = size.toFixed(2);
    cells[6] = ` ${value.padStart(old.length - 2)} `;
    return cells.join('|');
  };
  return text
    .split('\n')
    .map((line) => {
      if (line.startsWith('| **sum**')) return withSize(line, sum);
      if (!isTableLine(line)) return line;
      const size = gigabytesOf(cellsOf(line), drivers);
      sum += size;
      return withSize(line, size);
    })
    .join('\n');
}
