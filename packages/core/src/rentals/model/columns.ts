/** The column names of a list such as `id, name` as a type, so that the compiler compares a statement's columns with its row. */
export type ColumnsOf<List extends string> = List extends `${infer First},${infer Rest}`
  ? Trimmed<First> | ColumnsOf<Rest>
  : Trimmed<List>;

type Trimmed<Text extends string> = Text extends `${' ' | '\n'}${infer Rest}` ? Trimmed<Rest> : Text;

/** Prefixes each column with the relation's name. */
export function qualified(relation: string, columns: string): string {
  return columns.replaceAll(/\w+/g, (column) => `${relation}.${column}`);
}
