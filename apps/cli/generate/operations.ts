import { contract, operationsOf, type Operation } from '@millrace/contract';
import { namespaces, operations as entries } from '@millrace/sdk';
import { z } from 'zod';
import type { GeneratedField, GeneratedOperation, GeneratedParam } from '../src/generated/table.ts';
import { flagName, commandName, dropSoleGetVerb, commandNamesByOperation } from './names.ts';
import { fieldDescriptions } from './field-descriptions.ts';

/** The part of JSON Schema that the generator reads. */
interface Schema {
  readonly $ref?: string;
  readonly $defs?: Readonly<Record<string, Schema>>;
  readonly type?: string | readonly string[];
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly items?: Schema;
  readonly enum?: readonly unknown[];
  readonly const?: unknown;
  readonly anyOf?: readonly Schema[];
  readonly oneOf?: readonly Schema[];
  readonly allOf?: readonly Schema[];
  readonly format?: string;
  readonly description?: string;
}

/** Operations that duplicate another one are callable but not listed. */
const hidden: ReadonlySet<string> = new Set(['listMarketplaceInstancesByPost', 'getCurrentBalance']);

/** Fields whose value must not be on a command line. */
const secretFields: ReadonlySet<string> = new Set(['apiKey']);

/** The CLI pages itself. */
const pagingFields: ReadonlySet<string> = new Set(['cursor', 'limit']);

function schemaOf(schema: z.ZodType, io: 'input' | 'output'): Schema {
  return z.toJSONSchema(schema, { io, unrepresentable: 'any' }) as Schema;
}

function resolved(schema: Schema, root: Schema): Schema {
  if (schema.$ref === undefined) return schema;
  const target = root.$defs?.[schema.$ref.replace('#/$defs/', '')];
  if (target === undefined) throw new Error(`${schema.$ref} does not exist.`);
  const { description } = schema;
  return { ...resolved(target, root), ...(description === undefined ? {} : { description }) };
}

/** Removes null from a nullable schema. */
function withoutNull(schema: Schema, root: Schema): Schema {
  const whole = resolved(schema, root);
  if (Array.isArray(whole.type)) {
    const types = whole.type.filter((type) => type !== 'null');
    return types.length === 1 ? { ...whole, type: types[0] as string } : whole;
  }
  const others = whole.anyOf?.map((each) => resolved(each, root)).filter(({ type }) => type !== 'null');
  if (others?.length !== 1 || others[0] === undefined) return whole;
  return { ...others[0], ...(whole.description === undefined ? {} : { description: whole.description }) };
}

/** All fields of an object or of the variants of a union. */
function propertiesOf(
  schema: Schema,
  root: Schema,
): { readonly all: ReadonlyMap<string, Schema>; readonly required: ReadonlySet<string> } {
  const whole = withoutNull(schema, root);
  const forms = whole.anyOf ?? whole.oneOf ?? whole.allOf;
  if (forms === undefined) {
    return { all: new Map(Object.entries(whole.properties ?? {})), required: new Set(whole.required ?? []) };
  }
  const variants = forms.map((form) => propertiesOf(form, root));
  const all = new Map(variants.flatMap((part) => [...part.all]));
  const isNeeded = (key: string): boolean =>
    whole.allOf === undefined
      ? variants.every((part) => part.required.has(key))
      : variants.some((part) => part.required.has(key));
  return { all, required: new Set([...all.keys()].filter(isNeeded)) };
}

/** The first sentence of the description as a phrase; otherwise the text from `fieldDescriptions`. */
function describeField(key: string, description: string | undefined): string {
  const known =
    fieldDescriptions[key] ??
    key
      .replaceAll('_', ' ')
      .replace(/([a-z0-9])([A-Z])/g, '$1 $2')
      .toLowerCase();
  // `reason` has the same text everywhere, and amounts are typed in dollars.
  if (description === undefined || key === 'reason' || /nano-usd/i.test(description)) return known;
  const [first = ''] = description.split(/(?<=[.])\s/);
  return first.replace(/[.]$/, '').replace(/^[A-Z](?=[a-z ])/, (initial) => initial.toLowerCase());
}

function fieldOf(key: string, schema: Schema, root: Schema, isRequired: boolean): GeneratedField {
  const bare = withoutNull(schema, root);
  const { type, choices } = kindOf(key, bare, root);
  const isSecret = type === 'secret';
  const describe = describeField(key, bare.description);
  return {
    key,
    flag: isSecret ? `${flagName(key)}-stdin` : flagName(key),
    type,
    describe: isSecret ? `read this value from standard input: ${describe}` : describe,
    ...(choices === undefined ? {} : { choices }),
    ...(isRequired ? { required: true as const } : {}),
  };
}

function kindOf(key: string, schema: Schema, root: Schema): Pick<GeneratedField, 'type' | 'choices'> {
  if (key.endsWith('NanoUsd')) return { type: 'usd' };
  if (secretFields.has(key)) return { type: 'secret' };
  const choices = choicesOf(schema);
  if (choices !== undefined) return { type: 'text', choices };
  switch (schema.type) {
    case 'boolean':
      return { type: 'boolean' };
    case 'integer':
    case 'number':
      return { type: schema.type };
    case 'string':
      return { type: schema.format === 'date-time' ? 'moment' : 'text' };
    case 'array': {
      const item = schema.items === undefined ? {} : withoutNull(schema.items, root);
      const itemChoices = choicesOf(item);
      if (itemChoices !== undefined) return { type: 'list', choices: itemChoices };
      return { type: item.type === 'string' ? 'list' : 'json' };
    }
    default:
      return { type: 'json' };
  }
}

function choicesOf(schema: Schema): readonly string[] | undefined {
  const values = schema.enum ?? (schema.const === undefined ? undefined : [schema.const]);
  return values?.every((value) => typeof value === 'string') === true ? values : undefined;
}

function fieldsOf(schema: z.ZodType | undefined): readonly GeneratedField[] {
  if (schema === undefined) return [];
  const root = schemaOf(schema, 'input');
  const { all, required } = propertiesOf(root, root);
  return [...all]
    .filter(([key]) => !pagingFields.has(key))
    .map(([key, property]) => fieldOf(key, property, root, required.has(key)))
    .toSorted((one, other) => Number(other.required ?? false) - Number(one.required ?? false));
}

function paramsOf(operation: Operation): readonly GeneratedParam[] {
  if (operation.params === undefined) return [];
  const root = schemaOf(operation.params, 'input');
  return Object.entries(root.properties ?? {}).map(([key, property]) => {
    const schema = withoutNull(property, root);
    return {
      key,
      describe: describeField(key, schema.description),
      ...(schema.type === 'integer' ? { integer: true as const } : {}),
    };
  });
}

type ResponseShape = Pick<GeneratedOperation, 'responseKind' | 'json' | 'optional' | 'columns'>;

function responseShape(operation: Operation): ResponseShape {
  const entry = entries[operation.id as keyof typeof entries] as
    | { readonly responseKind?: 'nothing' | 'bytes' | 'text'; readonly list?: { readonly items?: string } }
    | undefined;
  if (entry?.responseKind !== undefined) return { responseKind: entry.responseKind, json: [], columns: [] };
  const root = schemaOf(operation.response.schema, 'output');
  const list = entry?.list;
  const top = resolved(root, root);
  const within = list?.items === undefined ? top : resolved(top.properties?.[list.items] ?? {}, root);
  const item = list === undefined ? top : withoutNull(within.items ?? {}, root);
  const { all, required } = propertiesOf(item, root);
  const json = [...all.keys()];
  const optional = json.filter((key) => !required.has(key));
  return {
    responseKind: list === undefined ? 'record' : 'list',
    json,
    ...(optional.length === 0 ? {} : { optional }),
    columns: columnsOf(all, root),
  };
}

const firstColumns = ['id', 'name', 'status', 'state'];
const MAX_COLUMNS = 7;

/** Scalar fields for a table, the most useful first. */
function columnsOf(all: ReadonlyMap<string, Schema>, root: Schema): readonly string[] {
  const simple = [...all]
    .filter(([, schema]) => {
      const { type, enum: values } = withoutNull(schema, root);
      return values !== undefined || ['string', 'number', 'integer', 'boolean'].includes(String(type));
    })
    .map(([key]) => key);
  const preferred = firstColumns.filter((key) => simple.includes(key));
  return [...preferred, ...simple.filter((key) => !preferred.includes(key))].slice(0, MAX_COLUMNS);
}

/** The operations without a hand-written command, except those that need a session: the CLI stores only keys. */
export function generatedOperations(
  covered: ReadonlySet<string>,
  taken: ReadonlySet<string>,
): Readonly<Record<string, GeneratedOperation>> {
  const names = dropSoleGetVerb(
    new Map(
      [...commandNamesByOperation(namespaces)].map(({ operation, path }) => [operation, commandName(path)]),
    ),
  );
  const rows = operationsOf(contract)
    .filter(({ id, auth }) => names.has(id) && !covered.has(id) && auth !== 'person')
    .map(
      (operation) => [operation.id, toGeneratedOperation(operation, names.get(operation.id) ?? '')] as const,
    )
    .toSorted(([, one], [, other]) => (one.name < other.name ? -1 : 1));
  for (const [id, { name }] of rows) {
    if (taken.has(name)) throw new Error(`The command "${name}" already exists and does not call ${id}.`);
  }
  return Object.fromEntries(rows);
}

/** Operations that delete something or move money. */
function requiresConfirmation({ id, method, scope }: Operation): boolean {
  if (method === 'DELETE') return true;
  return method !== 'GET' && (scope === 'admin:money' || /Terminate|RequestPayout/.test(id));
}

function toGeneratedOperation(operation: Operation, name: string): GeneratedOperation {
  const fields = [...fieldsOf(operation.query), ...fieldsOf(operation.body)];
  // Descriptions name flags instead of fields.
  const description = operation.description?.replace(/`(\w+)`/g, (span, key: string) => {
    const field = fields.find((each) => each.key === key);
    return field === undefined ? span : `--${field.flag}`;
  });
  return {
    name,
    summary: operation.summary.replace(/[.]$/, ''),
    ...(description === undefined ? {} : { description }),
    params: paramsOf(operation),
    fields,
    ...(operation.body === undefined ? {} : { hasBody: true as const }),
    ...responseShape(operation),
    ...(requiresConfirmation(operation) ? { confirms: true as const } : {}),
    ...(hidden.has(operation.id) ? { hidden: true as const } : {}),
  };
}

export function tableText(rows: Readonly<Record<string, GeneratedOperation>>): string {
  return [
    '// Written by `npm run cli:generate` from the contract. Do not edit.',
    "import type { GeneratedOperation } from './table.ts';",
    '',
    `export const generatedOperations: Readonly<Record<string, GeneratedOperation>> = ${JSON.stringify(rows, null, 2)};`,
    '',
  ].join('\n');
}

/** The response fields of all operations, for hand-written commands. */
export function responseFieldsText(): string {
  const shapes = operationsOf(contract).map((operation) => [operation.id, responseShape(operation)] as const);
  const rows = shapes
    .filter(([, { json }]) => json.length > 0)
    .toSorted(([one], [other]) => (one < other ? -1 : 1))
    .map(([id, { json, optional }]) => `  ${id}: ${JSON.stringify({ fields: json, optional })},`);
  return [
    '// Written by `npm run cli:generate` from the contract. Do not edit.',
    "import type { JsonFields } from './command.ts';",
    '',
    'export const responseFields: Readonly<Record<string, JsonFields>> = {',
    ...rows,
    '};',
    '',
  ].join('\n');
}
