import type { Context } from './context.ts';
import { responseFields } from './response-fields.generated.ts';

interface FlagBase {
  /** A phrase without a full stop. */
  readonly describe: string;
  /** One letter, for the few flags that are typed often. */
  readonly short?: string;
}

/** Absent or present; `--no-NAME` sets it to false. */
export interface BooleanFlag extends FlagBase {
  readonly type: 'boolean';
}

export interface TextFlag extends FlagBase {
  readonly type: 'text';
  /** The placeholder of the value in help: `NAME`. */
  readonly value: string;
  readonly choices?: readonly string[];
  readonly required?: true;
  readonly default?: string;
}

export interface NumberFlag extends FlagBase {
  readonly type: 'number';
  readonly value: string;
  readonly integer?: true;
  readonly min?: number;
  readonly max?: number;
  readonly required?: true;
  readonly default?: number;
}

/** May be repeated; each value may be a comma-separated list. */
export interface ListFlag extends FlagBase {
  readonly type: 'list';
  /** Do not split at commas. */
  readonly whole?: true;
  readonly value: string;
  readonly choices?: readonly string[];
  readonly required?: true;
}

/** Any JSON value, for structured fields. */
export interface JsonFlag extends FlagBase {
  readonly type: 'json';
  readonly value: string;
  readonly required?: true;
}

export type Flag = BooleanFlag | TextFlag | NumberFlag | ListFlag | JsonFlag;
export type Flags = Readonly<Record<string, Flag>>;

export interface Positional {
  readonly name: string;
  readonly describe: string;
  readonly optional?: true;
  /** Takes all remaining arguments; only the last positional may. */
  readonly many?: true;
  readonly choices?: readonly string[];
}

type FlagPresence<F, Value> = F extends { readonly required: true } | { readonly default: string | number }
  ? Value
  : Value | undefined;

type TextOf<F> = F extends { readonly choices: readonly (infer Choice)[] } ? Choice : string;

export type FlagValue<F extends Flag> = F extends BooleanFlag
  ? boolean | undefined
  : F extends TextFlag
    ? FlagPresence<F, TextOf<F>>
    : F extends NumberFlag
      ? FlagPresence<F, number>
      : F extends ListFlag
        ? readonly TextOf<F>[]
        : unknown;

type PositionalValue<P extends Positional> = P extends { readonly many: true }
  ? readonly TextOf<P>[]
  : P extends { readonly optional: true }
    ? TextOf<P> | undefined
    : TextOf<P>;

/** The parsed and validated arguments. */
export interface Input<P extends readonly Positional[] = readonly Positional[], F extends Flags = Flags> {
  readonly args: { readonly [Each in P[number] as Each['name']]: PositionalValue<Each> };
  readonly flags: { readonly [Name in keyof F]: FlagValue<F[Name]> };
  /** The arguments after `--`, for a command that passes them on. */
  readonly rest: readonly string[];
}

export interface JsonFields {
  readonly fields: readonly string[];
  /** The fields that may be absent. */
  readonly optional?: readonly string[];
}

/**
 * The output of `--json`: a `list` is an array of objects with these fields, a `record` one object, `lines` one
 * object per line. Scripts read these fields, so the test harness fails if a command prints others.
 */
export type JsonShape =
  | ({ readonly kind: 'list' | 'record' | 'lines' } & JsonFields)
  /** The fields are not known here: a whole document, or the response of any operation. */
  | { readonly kind: 'any' }
  | { readonly kind: 'none' };

/** A command as data. Help, parsing, completions and the coverage test are derived from it. */
export interface CommandDefinition<P extends readonly Positional[], F extends Flags> {
  /** As typed after `millrace`: `rental create`. The file is commands/rental/create.ts. */
  readonly name: string;
  /** One line without a full stop, for lists of commands. */
  readonly summary: string;
  /** Sentences for the help of the command. */
  readonly description?: string;
  readonly positionals?: P;
  readonly flags?: F;
  /** At least two command lines with short descriptions. */
  readonly examples: Readonly<Record<string, string>>;
  /** The ids of the operations that this command calls. */
  readonly operations: readonly string[];
  /** A kind without fields means the response fields of the first operation. */
  readonly json: JsonShape | 'list' | 'record' | 'lines';
  /** The command passes arguments after `--` on. Help shows this placeholder for them. */
  readonly rest?: string;
  readonly hidden?: true;
  /** The command never calls the API, so the client is not loaded. */
  readonly offline?: true;
  /** The failed action: `Could not create the rental`. By default, the error names the command. */
  readonly failure?: string;
  /** Commands to suggest for error reasons, before the general advice. */
  readonly advice?: Readonly<Record<string, string>>;
  run(context: Context, input: Input<P, F>): Promise<void>;
}

/** A command with erased flag types, for the runner. */
export interface Command extends Omit<CommandDefinition<readonly Positional[], Flags>, 'run' | 'json'> {
  readonly json: JsonShape;
  readonly positionals: readonly Positional[];
  readonly flags: Flags;
  readonly run: (context: Context, input: Input) => Promise<void>;
}

const noFields: JsonFields = { fields: [] };

export function defineCommand<
  const P extends readonly Positional[] = readonly [],
  const F extends Flags = Record<never, Flag>,
>(definition: CommandDefinition<P, F>): Command {
  const { json, operations } = definition;
  return {
    ...definition,
    positionals: definition.positionals ?? [],
    flags: definition.flags ?? {},
    // A new operation gets its fields with the next npm run cli:generate.
    json:
      typeof json === 'string' ? { kind: json, ...(responseFields[operations[0] ?? ''] ?? noFields) } : json,
    // The parser produces the input from this definition, so it has the inferred types.
    run: definition.run as unknown as Command['run'],
  };
}
