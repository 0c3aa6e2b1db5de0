/** The column names of a list such as `id, name`, as a type, so that the columns of a statement and its rows agree. */
export type ColumnsOf<List extends string> = List extends `${infer First},${infer Rest}`
  ? Trimmed<First> | ColumnsOf<Rest>
  : Trimmed<List>;

type Trimmed<Text extends string> = Text extends `${' ' | '\n'}${infer Rest}` ? Trimmed<Rest> : Text;

/** The same columns of the relation with this name. */
export function qualified(relation: string, columns: string): string {
  return columns.replaceAll(/\w+/g, (column) => `${relation}.${column}`);
}
