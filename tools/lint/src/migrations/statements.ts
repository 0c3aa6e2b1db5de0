/** One statement of a migration, without comments. Function bodies and texts are empty. */
export interface Statement {
  /** In lower case, with single spaces. */
  readonly text: string;
  /** Numbers of its first and its last line in the file. */
  readonly firstLine: number;
  readonly lastLine: number;
}

const blank = (found: string): string => found.replaceAll(/[^\n]/g, ' ');

/** Comments, function bodies and texts become spaces, so a word in them is no statement. Lines keep their numbers. */
function withoutTexts(sql: string): string {
  return sql.replaceAll(/--[^\n]*|\/\*[^]*?\*\/|\$\$[^]*?\$\$|'[^']*'/g, blank);
}

export function splitStatements(sql: string): readonly Statement[] {
  const statements: Statement[] = [];
  let line = 1;
  for (const part of withoutTexts(sql).split(';')) {
    const lead = part.length - part.trimStart().length;
    const firstLine = line + countLines(part.slice(0, lead));
    const text = part.trim();
    if (text !== '') {
      statements.push({
        text: text.toLowerCase().replaceAll(/\s+/g, ' '),
        firstLine,
        lastLine: firstLine + countLines(text),
      });
    }
    line += countLines(part);
  }
  return statements;
}

const countLines = (text: string): number => text.split('\n').length - 1;

/** The table that a statement changes, without its schema. Null for statements on other objects. */
export function tableOf({ text }: Statement): string | null {
  const [, found] =
    /^(?:alter|drop|create|truncate)(?: unlogged)? table (?:if (?:not )?exists )?(?:only )?([\w.]+)/.exec(
      text,
    ) ??
    /^(?:create|drop) (?:unique )?index .*?\bon (?:only )?([\w.]+)/.exec(text) ??
    /^(?:create|drop) trigger .*?\bon ([\w.]+)/.exec(text) ??
    /^revoke .*?\bon (?:table )?([\w.]+)/.exec(text) ??
    [];
  return found?.replace(/^public\./, '') ?? null;
}

/** Tables that these statements create. No earlier release uses them. */
export function createdTables(statements: readonly Statement[]): ReadonlySet<string> {
  const tables = statements.flatMap((statement) => {
    const isCreation = /^create (?:unlogged )?table /.test(statement.text);
    const table = isCreation ? tableOf(statement) : null;
    return table === null ? [] : [table];
  });
  return new Set(tables);
}
