/**
 * What a command that nobody wrote by hand is made from: one row for an operation of the contract. The table is generated, so
 * that the schemas themselves need not be loaded to run a command.
 */
export interface GeneratedField {
  /** Its name in the input of the operation. */
  readonly key: string;
  /** As typed, without the dashes. */
  readonly flag: string;
  /** `usd`: nano-USD on the wire, dollars on the command line. `moment`: a day or an instant. `secret`: read from standard input. */
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
  /** It takes a body, so `--input` may give all of it. */
  readonly hasBody?: true;
  readonly responseKind: 'list' | 'record' | 'nothing' | 'text' | 'bytes';
  /** The fields of the answer, or of each item of a list. */
  readonly json: readonly string[];
  readonly optional?: readonly string[];
  /** Those of them that a table shows by itself. */
  readonly columns: readonly string[];
  /** Something is lost by it, or money moves: the person is asked first. */
  readonly confirms?: true;
  readonly hidden?: true;
}
