import type { Context } from './context.ts';
import { responseFields } from './response-fields.generated.ts';

interface FlagBase {
  /** What it does, as a phrase without a full stop. */
  readonly describe: string;
  /** One letter, for the few that are typed by hand all day. */
  readonly short?: string;
}

/** Either there or not; `--no-NAME` says not. */
export interface BooleanFlag extends FlagBase {
  readonly type: 'boolean';
}

export interface TextFlag extends FlagBase {
  readonly type: 'text';
  /** What stands for the value in help: `NAME`. */
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

/** May be given several times, each time with one value or with several between commas. */
export interface ListFlag extends FlagBase {
  readonly type: 'list';
  /** Commas belong to the value. */
  readonly whole?: true;
  readonly value: string;
  readonly choices?: readonly string[];
  readonly required?: true;
}

/** Any JSON value, for fields that are more than one word. */
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
  /** It may be left out. */
  readonly optional?: true;
  /** Takes all words that are left; only the last may. */
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

/** What was typed, read and checked. */
export interface Input<P extends readonly Positional[] = readonly Positional[], F extends Flags = Flags> {
  /** The positional arguments by their names. */
  readonly args: { readonly [Each in P[number] as Each['name']]: PositionalValue<Each> };
  readonly flags: { readonly [Name in keyof F]: FlagValue<F[Name]> };
  /** The words after `--`, for a command that hands them on. */
  readonly rest: readonly string[];
}

export interface JsonFields {
  readonly fields: readonly string[];
  /** Those of the fields that may be missing. */
  readonly optional?: readonly string[];
}

/**
 * What `--json` prints: a `list` is an array of objects with these fields, a `record` one such object, `lines` one object
 * per line as they come. Scripts read these fields, so tests pin them: a run that prints others fails in the harness.
 */
export type JsonShape =
  | ({ readonly kind: 'list' | 'record' | 'lines' } & JsonFields)
  /** The answer is not the command line's to describe: a whole document, or an operation's by name. */
  | { readonly kind: 'any' }
  | { readonly kind: 'none' };

/** A command as data: help, parsing, completions and the coverage test all come from it. */
export interface CommandDefinition<P extends readonly Positional[], F extends Flags> {
  /** As typed after `millrace`: `rental create`. The file is commands/rental/create.ts. */
  readonly name: string;
  /** One line for lists of commands, without a full stop. */
  readonly summary: string;
  /** Whole sentences for the command's own help. */
  readonly description?: string;
  readonly positionals?: P;
  readonly flags?: F;
  /** At least two lines to type, each with what it is good for in a few words. */
  readonly examples: Readonly<Record<string, string>>;
  /** The ids of the contract's operations that this command reaches. */
  readonly operations: readonly string[];
  /** A kind alone stands for the fields that the first of the operations answers. */
  readonly json: JsonShape | 'list' | 'record' | 'lines';
  /** Words after `--` are handed to something else. Help shows this placeholder for them. */
  readonly rest?: string;
  /** Not listed in help. */
  readonly hidden?: true;
  /** Never calls the API, so the client is not loaded for it. */
  readonly offline?: true;
  /**
   * What went wrong, in the words of this command: `Could not create the rental`. Without it the error names the command.
   */
  readonly failure?: string;
  /** A command to suggest for a reason of the API, before the general advice is asked. */
  readonly advice?: Readonly<Record<string, string>>;
  run(context: Context, input: Input<P, F>): Promise<void>;
}

/** A definition whose flags nobody needs to know by type any more: what the runner works with. */
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
    // An operation that is new to the contract has its fields after the next npm run cli:generate.
    json:
      typeof json === 'string' ? { kind: json, ...(responseFields[operations[0] ?? ''] ?? noFields) } : json,
    // The parser reads the input from this very definition, so its types are those that were inferred from it.
    run: definition.run as unknown as Command['run'],
  };
}
