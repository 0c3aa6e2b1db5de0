/** One row per operation without a hand-written command, so that commands run without the schemas. */
export interface GeneratedField {
  /** The field name in the input of the operation. */
  readonly key: string;
  /** Without the dashes. */
  readonly flag: string;
  /** `usd`: nano-USD in the API, dollars in the CLI. `moment`: a day or a time. `secret`: from standard input. */
  readonly type: 'text' | 'number' | 'integer' | 'boolean' | 'list' | 'json' | 'usd' | 'moment' | 'secret';
  readonly describe: string;
  readonly choices?: readonly string[];
  readonly required?: true;
}

export interface GeneratedParam {
  readonly key: string;
  readonly describe: string;
  readonly integer?: true;
}

export interface GeneratedOperation {
  readonly name: string;
  readonly summary: string;
  readonly description?: string;
  readonly params: readonly GeneratedParam[];
  readonly fields: readonly GeneratedField[];
  /** It has a body, so `--input` may contain all fields. */
  readonly hasBody?: true;
  readonly responseKind: 'list' | 'record' | 'nothing' | 'text' | 'bytes';
  /** The fields of the response, or of each item of a list. */
  readonly json: readonly string[];
  readonly optional?: readonly string[];
  /** The default columns of a table. */
  readonly columns: readonly string[];
  /** Asks for confirmation, because it deletes something or moves money. */
  readonly confirms?: true;
  readonly hidden?: true;
}
