import { parseArgs, type ParseArgsOptionsConfig } from 'node:util';
import type { Command, Flag, Flags, Input, Positional } from './command.ts';
import { UsageError } from './errors.ts';

/** The flags of every command. */
export const globalFlags = {
  profile: { type: 'text', value: 'NAME', describe: 'use this profile' },
  'api-url': { type: 'text', value: 'URL', describe: 'call the API at this address' },
  json: { type: 'boolean', describe: 'print JSON; the same as -o json' },
  output: {
    type: 'text',
    short: 'o',
    value: 'FORMAT',
    choices: ['table', 'json'],
    describe: 'output format',
  },
  columns: { type: 'list', value: 'NAMES', describe: 'the columns of the table, in this order' },
  yes: { type: 'boolean', short: 'y', describe: 'confirm all questions' },
  debug: { type: 'boolean', describe: 'show the requests to the API and the stack of an error' },
  'no-color': { type: 'boolean', describe: 'disable colours, like NO_COLOR=1' },
  help: { type: 'boolean', short: 'h', describe: 'show this help' },
  version: { type: 'boolean', describe: 'show the version' },
} as const satisfies Flags;

export interface GlobalValues {
  readonly profile: string | undefined;
  readonly apiUrl: string | undefined;
  readonly format: 'table' | 'json';
  readonly columns: readonly string[] | undefined;
  readonly yes: boolean;
  readonly debug: boolean;
  readonly noColor: boolean;
  readonly help: boolean;
  readonly version: boolean;
}

type RawValue = string | boolean | readonly (string | boolean)[] | undefined;
type RawValues = Readonly<Record<string, RawValue>>;

export interface SplitArguments {
  /** Global flags before the name of the command. */
  readonly before: readonly string[];
  /** From the first argument that is not a flag. */
  readonly after: readonly string[];
}

/** Global flags may precede the name of the command: `millrace --profile work rental list`. */
export function splitArguments(words: readonly string[]): SplitArguments {
  let index = 0;
  while (index < words.length) {
    const word = words[index] ?? '';
    if (!word.startsWith('-') || word === '-' || word === '--') break;
    index += takesNextArgument(word) ? 2 : 1;
  }
  return { before: words.slice(0, index), after: words.slice(index) };
}

function takesNextArgument(word: string): boolean {
  if (word.includes('=')) return false;
  const flag = Object.entries(globalFlags).find(
    ([name, each]) => word === `--${name}` || ('short' in each && word === `-${each.short}`),
  );
  return flag !== undefined && flag[1].type !== 'boolean';
}

export interface ParsedArguments {
  readonly globals: GlobalValues;
  readonly input: Input;
}

/** Parses and validates the arguments after the name of a command. */
export function parseArguments(
  command: Command,
  words: readonly string[],
  before: readonly string[] = [],
): ParsedArguments {
  const flags: Flags = { ...command.flags, ...globalFlags };
  const separator = words.indexOf('--');
  const own = command.rest === undefined || separator < 0 ? words : words.slice(0, separator);
  const rest = command.rest === undefined || separator < 0 ? [] : words.slice(separator + 1);
  const { values, positionals } = parseRaw([...before, ...own], flags);
  const globals = readGlobals(values);
  // Show help even if required arguments are missing.
  if (globals.help) return { globals, input: { args: {}, flags: {}, rest: [] } as Input };
  return {
    globals,
    input: {
      args: readPositionals(command.positionals, positionals) as Input['args'],
      flags: Object.fromEntries(
        Object.entries(command.flags).map(([name, flag]) => [name, readFlag(name, flag, values[name])]),
      ),
      rest,
    },
  };
}

export function parseGlobals(words: readonly string[]): GlobalValues {
  return readGlobals(parseRaw(words, globalFlags).values);
}

function readGlobals(values: RawValues): GlobalValues {
  const output = readFlag('output', globalFlags.output, values['output']);
  const columns = readList('columns', globalFlags.columns, values['columns']);
  const json = values['json'] === true;
  if (json && output === 'table')
    throw new UsageError('--json and -o table contradict each other. Use one of them.');
  return {
    profile: readFlag('profile', globalFlags.profile, values['profile']) as string | undefined,
    apiUrl: readFlag('api-url', globalFlags['api-url'], values['api-url']) as string | undefined,
    format: json || output === 'json' ? 'json' : 'table',
    columns: columns.length === 0 ? undefined : columns,
    yes: values['yes'] === true,
    debug: values['debug'] === true,
    noColor: values['no-color'] === true || values['color'] === false,
    help: values['help'] === true,
    version: values['version'] === true,
  };
}

function parseRaw(
  words: readonly string[],
  flags: Flags,
): { readonly values: RawValues; readonly positionals: readonly string[] } {
  const options: ParseArgsOptionsConfig = Object.fromEntries(
    Object.entries(flags).map(([name, flag]) => [
      name,
      {
        type: flag.type === 'boolean' ? ('boolean' as const) : ('string' as const),
        ...(flag.short === undefined ? {} : { short: flag.short }),
        ...(flag.type === 'list' ? { multiple: true } : {}),
      },
    ]),
  );
  try {
    return parseArgs({
      args: protectNegativeNumbers(words),
      options,
      strict: true,
      allowPositionals: true,
      allowNegative: true,
    });
  } catch (error) {
    throw new UsageError(parseErrorText(error, Object.keys(flags)));
  }
}

/** `--amount -5` means minus five; parseArgs requires `--amount=-5`. */
function protectNegativeNumbers(words: readonly string[]): string[] {
  const joined: string[] = [];
  for (const word of words) {
    const previous = joined.at(-1);
    if (/^-\d/.test(word) && previous?.startsWith('--') === true && !previous.includes('=')) {
      joined[joined.length - 1] = `${previous}=${word}`;
    } else joined.push(word);
  }
  return joined;
}

/** Only the first sentence of Node's message is about the typed arguments. */
function parseErrorText(error: unknown, known: readonly string[]): string {
  const [what = ''] = (error instanceof Error ? error.message : String(error)).split(/\. |\n/);
  const unknown = /Unknown option '(?<flag>-[^']*)'/.exec(what)?.groups?.['flag'];
  if (unknown === undefined) return `${what.replace(/\.$/, '')}.`;
  const near = closestMatch(unknown.replace(/^-+/, ''), known);
  return `There is no flag ${unknown}${near === undefined ? '' : `; did you mean --${near}?`}${near === undefined ? '.' : ''}`;
}

function readPositionals(
  positionals: readonly Positional[],
  words: readonly string[],
): Readonly<Record<string, string | readonly string[] | undefined>> {
  const values: Record<string, string | readonly string[] | undefined> = {};
  positionals.forEach((positional, index) => {
    const given = positional.many === true ? words.slice(index) : words.slice(index, index + 1);
    if (given.length === 0 && positional.optional !== true) {
      throw new UsageError(`${placeholder(positional)} is missing: ${positional.describe}.`);
    }
    for (const word of given) checkChoice(placeholder(positional), positional.choices, word);
    if (given.includes('')) throw new UsageError(`${placeholder(positional)} is empty.`);
    values[positional.name] = positional.many === true ? given : given[0];
  });
  const last = positionals.at(-1);
  const surplus = last?.many === true ? undefined : words[positionals.length];
  if (surplus !== undefined) throw new UsageError(`Unexpected argument ${JSON.stringify(surplus)}.`);
  return values;
}

/** `keyId` is shown as `KEY_ID`. */
export function placeholder({ name }: Pick<Positional, 'name'>): string {
  return name
    .replace(/([a-z0-9])([A-Z])/g, '$1_$2')
    .replaceAll('-', '_')
    .toUpperCase();
}

function readFlag(name: string, flag: Flag, raw: RawValue): unknown {
  switch (flag.type) {
    case 'boolean':
      return typeof raw === 'boolean' ? raw : undefined;
    case 'list':
      return readList(name, flag, raw);
    case 'text':
    case 'number':
    case 'json':
      break;
  }
  if (typeof raw !== 'string') {
    if (flag.required === true) throw new UsageError(`--${name} ${flag.value} is missing: ${flag.describe}.`);
    return 'default' in flag ? flag.default : undefined;
  }
  if (raw.trim() === '') throw new UsageError(`--${name} is empty.`);
  if (flag.type === 'number') return readNumber(name, flag, raw);
  if (flag.type === 'json') return readJson(name, raw);
  checkChoice(`--${name}`, flag.choices, raw);
  return raw;
}

function readList(name: string, flag: Flag & { readonly type: 'list' }, raw: RawValue): readonly string[] {
  const values = Array.isArray(raw) ? raw.filter((each) => typeof each === 'string') : [];
  const items = (flag.whole === true ? values : values.flatMap((value) => value.split(','))).map((part) =>
    part.trim(),
  );
  if (items.includes('')) throw new UsageError(`--${name} is empty or has an empty part.`);
  if (items.length === 0 && flag.required === true) {
    throw new UsageError(`--${name} ${flag.value} is missing: ${flag.describe}.`);
  }
  for (const part of items) checkChoice(`--${name}`, flag.choices, part);
  return items;
}

function readNumber(name: string, flag: Flag & { readonly type: 'number' }, raw: string): number {
  const value = Number(raw);
  const wanted = flag.integer === true ? 'a whole number' : 'a number';
  if (!Number.isFinite(value) || (flag.integer === true && !Number.isSafeInteger(value))) {
    throw new UsageError(`--${name} is ${JSON.stringify(raw)}, which is not ${wanted}.`);
  }
  if (flag.min !== undefined && value < flag.min)
    throw new UsageError(`--${name} is ${raw}; the minimum is ${String(flag.min)}.`);
  if (flag.max !== undefined && value > flag.max)
    throw new UsageError(`--${name} is ${raw}; the maximum is ${String(flag.max)}.`);
  return value;
}

function readJson(name: string, raw: string): unknown {
  try {
    return JSON.parse(raw);
  } catch {
    throw new UsageError(`--${name} is not JSON: ${JSON.stringify(raw)}.`);
  }
}

function checkChoice(what: string, choices: readonly string[] | undefined, value: string): void {
  if (choices === undefined || choices.includes(value)) return;
  throw new UsageError(`${what} is ${JSON.stringify(value)}; use one of ${choices.join(', ')}.`);
}

/** The closest known word, if it is close enough. */
export function closestMatch(word: string, known: readonly string[]): string | undefined {
  const limit = word.length <= 4 ? 1 : 2;
  const scored = known
    .map((each) => ({
      each,
      distance: each.startsWith(word) && word.length > 1 ? 0 : editDistance(word, each),
    }))
    .filter(({ distance: steps }) => steps <= limit)
    .toSorted((one, other) => one.distance - other.distance);
  return scored[0]?.each;
}

/** Damerau-Levenshtein distance: insertions, deletions, substitutions and swaps of neighbours. */
function editDistance(one: string, other: string): number {
  let beforePrevious: readonly number[] = [];
  let previous = Array.from({ length: other.length + 1 }, (_, index) => index);
  for (let row = 1; row <= one.length; row += 1) {
    const current = [row];
    for (let column = 1; column <= other.length; column += 1) {
      const same = one[row - 1] === other[column - 1] ? 0 : 1;
      const isSwapped = one[row - 1] === other[column - 2] && one[row - 2] === other[column - 1];
      current.push(
        Math.min(
          (previous[column] ?? 0) + 1,
          (current[column - 1] ?? 0) + 1,
          (previous[column - 1] ?? 0) + same,
          isSwapped && row > 1 && column > 1 ? (beforePrevious[column - 2] ?? 0) + 1 : Infinity,
        ),
      );
    }
    beforePrevious = previous;
    previous = current;
  }
  return previous.at(-1) ?? 0;
}
