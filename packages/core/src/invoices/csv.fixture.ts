/** Parses CSV by RFC 4180, independently of the code under test. An empty unquoted field is null. */
export function parseCsv(text: string): readonly Readonly<Record<string, string | null>>[] {
  const [names = [], ...rows] = records(text);
  return rows.map((row) => {
    if (row.length !== names.length) throw new Error(`A row of ${row.length} fields: ${row.join('|')}`);
    return Object.fromEntries(names.map((name, index) => [name ?? '', row[index] ?? null]));
  });
}

function records(text: string): (string | null)[][] {
  const all: (string | null)[][] = [];
  const field = /(?:"((?:[^"]|"")*)"|([^",\r\n]*))(,|\r\n)/gy;
  let row: (string | null)[] = [];
  let end = 0;
  for (let match = field.exec(text); match !== null; match = field.exec(text)) {
    const [, quoted, bare = '', separator] = match;
    row.push(quoted === undefined ? bare || null : quoted.replaceAll('""', '"'));
    end = field.lastIndex;
    if (separator === '\r\n') {
      all.push(row);
      row = [];
    }
    if (end === text.length) break;
  }
  if (end !== text.length || row.length > 0) throw new Error(`Not CSV after ${text.slice(end, end + 80)}`);
  return all;
}
