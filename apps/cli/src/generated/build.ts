import { defineCommand, type Command, type Flag, type Flags, type Input } from '../framework/command.ts';
import type { Context } from '../framework/context.ts';
import { CliError, UsageError } from '../framework/errors.ts';
import {
  printBytes,
  printResult,
  printJson,
  printList,
  printRecord,
  printText,
  type Cell,
  type Column,
} from '../framework/output.ts';
import { placeholder } from '../framework/parse.ts';
import type { CallableId } from '../sdk.ts';
import { parseUsd, usdText } from '@millrace/sdk/text';
import { parseTimestamp, timestampText } from '../text/timestamps.ts';
import { take } from '../money/take.ts';
import { readInput } from './input.ts';
import { generatedOperations } from './operations.generated.ts';
import type { GeneratedField, GeneratedOperation } from './table.ts';

/** Builds a command from an operation that has no hand-written one. */
export function generatedCommand(id: string): Command {
  const row = Object.hasOwn(generatedOperations, id) ? generatedOperations[id] : undefined;
  if (row === undefined)
    throw new Error(`There is no generated command for ${id}. Run npm run cli:generate.`);
  return buildCommand(id, row);
}

const DEFAULT_LIMIT = 50;
const MAX_PAGE_SIZE = 200;

export function buildCommand(id: string, row: GeneratedOperation): Command {
  return defineCommand({
    name: row.name,
    summary: row.summary,
    ...(row.description === undefined ? {} : { description: row.description }),
    positionals: row.params.map(({ key, describe }) => ({ name: key, describe })),
    flags: flagsOf(row),
    examples: examplesOf(row),
    operations: [id],
    json: jsonOf(row),
    ...(row.hidden === true ? { hidden: true as const } : {}),
    run: (context, input) => run(context, { id: id as CallableId, row, input: input as Input }),
  });
}

function jsonOf(row: GeneratedOperation): Command['json'] {
  if (row.responseKind === 'nothing') return { kind: 'record', fields: ['done'] };
  if (row.responseKind === 'bytes' || row.responseKind === 'text') return { kind: 'none' };
  // A response with free fields is a whole document; a union describes itself.
  if (row.json.length === 0) return { kind: 'any' };
  return {
    kind: row.responseKind,
    fields: row.json,
    ...(row.optional === undefined ? {} : { optional: row.optional }),
  };
}

function flagsOf(row: GeneratedOperation): Flags {
  const fields = row.fields.map((field) => [field.flag, flagOf(field, row)] as const);
  const input: Flag = {
    type: 'text',
    value: 'FILE',
    describe: 'the fields as JSON, from a file or standard input (-); flags override it',
  };
  const limit: Flag = {
    type: 'number',
    value: 'N',
    integer: true,
    min: 1,
    max: 100_000,
    default: DEFAULT_LIMIT,
    describe: 'the maximum number of entries',
  };
  return {
    ...Object.fromEntries(fields),
    ...(row.responseKind === 'list' ? { limit } : {}),
    ...(row.hasBody === true ? { input } : {}),
  };
}

function flagOf(field: GeneratedField, row: GeneratedOperation): Flag {
  // A field that --input can contain is not required as a flag.
  const isRequired = field.required === true && row.hasBody !== true;
  const describe = field.required === true && !isRequired ? `${field.describe} (required)` : field.describe;
  const base = { describe, ...(isRequired ? { required: true as const } : {}) };
  const choices = field.choices === undefined ? {} : { choices: field.choices };
  switch (field.type) {
    case 'boolean':
      return { type: 'boolean', describe: `${describe}; --no-${field.flag} for no` };
    case 'secret':
      return { type: 'boolean', describe };
    case 'integer':
      return { type: 'number', integer: true, value: 'N', ...base };
    case 'number':
      return { type: 'number', value: 'N', ...base };
    case 'list':
      return { type: 'list', value: valuePlaceholder(field), ...choices, ...base };
    case 'json':
      return { type: 'json', value: 'JSON', ...base };
    case 'usd':
      return { type: 'text', value: 'USD', ...base };
    case 'moment':
      return { type: 'text', value: 'TIME', ...base };
    case 'text':
      return { type: 'text', value: valuePlaceholder(field), ...choices, ...base };
  }
}

/** The placeholder of a value: the last word of the field name. */
function valuePlaceholder({ key, choices }: GeneratedField): string {
  if (choices !== undefined) return 'CHOICE';
  if (['reason', 'summary', 'about', 'description', 'text'].includes(key)) return 'TEXT';
  const lastWord = key.split(/(?=[A-Z])|[^A-Za-z0-9]+/).at(-1) ?? '';
  return /^[A-Za-z]/.test(lastWord) ? lastWord.toUpperCase() : 'VALUE';
}

/** Two examples in which only words in capitals must be replaced. */
function examplesOf(row: GeneratedOperation): Command['examples'] {
  const needed = row.fields.filter(({ required }) => required === true);
  // An update needs at least one field, so show the first optional one.
  const shown = needed.length === 0 && row.hasBody === true ? row.fields.slice(0, 1) : needed;
  const named = ['millrace', row.name, ...row.params.map(({ key }) => placeholder({ name: key }))].join(' ');
  const line = [named, ...shown.flatMap((field) => exampleOf(field))].join(' ');
  return { [line]: row.summary, ...secondExample(row, named, line) };
}

function secondExample(row: GeneratedOperation, named: string, line: string): Command['examples'] {
  if (row.responseKind === 'list') return { [`${line} --limit 200 --json`]: 'More entries, for a script' };
  if (row.hasBody === true) return { [`${named} --input body.json`]: 'With the fields from a file' };
  if (row.responseKind === 'nothing') return { [`${line} --yes`]: 'Without confirmation' };
  return { [`${line} --json`]: 'For a script' };
}

function exampleOf(field: GeneratedField): readonly string[] {
  const flag = `--${field.flag}`;
  switch (field.type) {
    case 'boolean':
    case 'secret':
      return [flag];
    case 'integer':
    case 'number':
      return [flag, '1'];
    case 'usd':
      return [flag, '25'];
    case 'moment':
      return [flag, '2026-08-01T12:00:00Z'];
    case 'json':
      return [flag, `'{ … }'`];
    case 'list':
      return [flag, field.choices?.[0] ?? valuePlaceholder(field)];
    case 'text':
      return [
        flag,
        field.choices?.[0] ?? (valuePlaceholder(field) === 'TEXT' ? '"as agreed"' : valuePlaceholder(field)),
      ];
  }
}

interface Call {
  readonly id: CallableId;
  readonly row: GeneratedOperation;
  readonly input: Input;
}

async function run(context: Context, { id, row, input }: Call): Promise<void> {
  const fields = await fieldsOf(context, row, input);
  if (row.confirms === true) {
    const what = row.params.map(({ key }) => String(fields[key])).join(' ');
    await context.confirm(what === '' ? `${row.summary}?` : `${row.summary} (${what})?`);
  }
  if (row.responseKind === 'list') {
    await runList(context, { id, row, fields, limit: Number(input.flags['limit'] ?? DEFAULT_LIMIT) });
    return;
  }
  const response: unknown = await context.client().call(id, fields, { signal: context.signal });
  if (row.responseKind === 'nothing') printResult(context, 'Done.', { done: true });
  else if (row.responseKind === 'bytes') printBytes(context, bytesOf(response));
  else if (row.responseKind === 'text') printText(context, String(response));
  else if (row.json.length === 0 || !isRecord(response)) printJson(context, response);
  else printRecord(context, response, columnsFor(row, 'all'));
}

async function runList(
  context: Context,
  options: {
    readonly id: CallableId;
    readonly row: GeneratedOperation;
    readonly fields: Readonly<Record<string, unknown>>;
    readonly limit: number;
  },
): Promise<void> {
  const { id, row, fields, limit } = options;
  const pages = context.client().call(id, fields, { signal: context.signal });
  if (!(Symbol.asyncIterator in pages)) throw new Error(`${id} does not return a list.`);
  const taken = await take(pages as AsyncIterable<Readonly<Record<string, unknown>>>, limit);
  printList(context, taken.items, columnsFor(row, 'table'), {
    empty: 'No results.',
    ...(taken.more
      ? {
          footer: `Showing ${String(limit)}; there are more. Show them with --limit ${String(limit + limit)}`,
        }
      : {}),
  });
}

/** Positional arguments and flags override --input. */
async function fieldsOf(
  context: Context,
  row: GeneratedOperation,
  input: Input,
): Promise<Readonly<Record<string, unknown>>> {
  const file = input.flags['input'];
  const fields: Record<string, unknown> =
    typeof file === 'string' ? { ...(await readInput(context, file)) } : {};
  for (const { key, integer } of row.params) {
    const typed = String((input.args as Readonly<Record<string, unknown>>)[key]);
    if (integer === true && !/^-?\d+$/.test(typed)) {
      throw new UsageError(`${placeholder({ name: key })} is ${JSON.stringify(typed)}; use a whole number.`);
    }
    fields[key] = integer === true ? Number(typed) : typed;
  }
  for (const field of row.fields) {
    const given = input.flags[field.flag];
    const value =
      field.type === 'secret' ? await secretOf(context, given === true, file) : valueOf(field, given);
    if (value !== undefined) fields[field.key] = value;
    else if (field.required === true && fields[field.key] === undefined) {
      throw new UsageError(`--${field.flag} is missing: ${field.describe}.`);
    }
  }
  if (row.responseKind === 'list')
    fields['limit'] = Math.min(MAX_PAGE_SIZE, Number(input.flags['limit'] ?? DEFAULT_LIMIT));
  return fields;
}

/** Secrets are piped in, because shell histories and process lists show command lines. */
async function secretOf(context: Context, isGiven: boolean, file: unknown): Promise<string | undefined> {
  if (!isGiven) return undefined;
  if (file === '-')
    throw new UsageError(
      'Standard input cannot contain both the fields (--input -) and a secret. Put the fields in a file.',
    );
  const secret = (await context.files.readStdin()).trim();
  if (secret === '') throw new UsageError('Standard input contains no secret.');
  return secret;
}

function valueOf(field: GeneratedField, value: unknown): unknown {
  if (value === undefined || (Array.isArray(value) && value.length === 0)) return undefined;
  if (typeof value !== 'string') return value;
  if (field.type === 'usd') {
    const nano = parseUsd(value);
    if (nano === null) {
      throw new UsageError(`--${field.flag} is ${JSON.stringify(value)}; use an amount such as 12.50.`);
    }
    return nano.toString();
  }
  return field.type === 'moment' ? parseTimestamp(`--${field.flag}`, value) : value;
}

type Row = Readonly<Record<string, unknown>>;

/** The columns of a table, or the lines of a record; --columns can select the others. */
function columnsFor(row: GeneratedOperation, shown: 'table' | 'all'): readonly Column<Row>[] {
  const rest = row.json.filter((key) => !row.columns.includes(key));
  return [
    ...row.columns.map((key) => columnOf(key)),
    ...rest.map((key) => ({ ...columnOf(key), ...(shown === 'all' ? {} : { extra: true as const }) })),
  ];
}

function columnOf(key: string): Column<Row> {
  return { name: columnName(key), value: (record) => cellOf(key, record[key]) };
}

export function columnName(key: string): string {
  return key
    .replace(/NanoUsd$/, '')
    .replace(/([a-z0-9])([A-Z])/g, '$1-$2')
    .replaceAll('_', '-')
    .toLowerCase();
}

const isoTimestamp = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(?:\.\d+)?Z$/;

function cellOf(key: string, value: unknown): Cell {
  if (value === null || value === undefined) return undefined;
  if (typeof value === 'number' || typeof value === 'boolean') return value;
  if (typeof value === 'string') {
    if (/nano_?usd$/i.test(key) && /^-?\d+$/.test(value)) return usdText(value);
    return isoTimestamp.test(value) ? timestampText(value) : value;
  }
  if (Array.isArray(value) && value.every((each) => typeof each === 'string' || typeof each === 'number')) {
    return value.join(', ');
  }
  return JSON.stringify(value);
}

function isRecord(value: unknown): value is Row {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function bytesOf(response: unknown): Uint8Array {
  if (response instanceof Uint8Array) return response;
  if (response instanceof ArrayBuffer) return new Uint8Array(response);
  throw new CliError('The API did not respond with a file.');
}
