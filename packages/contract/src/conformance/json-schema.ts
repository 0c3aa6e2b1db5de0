import { z } from 'zod';
import { labelPattern } from './shape.ts';
import type { Facts } from './shape.ts';

/** Converts a contract schema, through its JSON Schema, to the same flat facts as the text. */

export interface JsonSchemaNode {
  $ref?: string;
  $defs?: Record<string, JsonSchemaNode>;
  type?: string | string[];
  enum?: unknown[];
  const?: unknown;
  anyOf?: JsonSchemaNode[];
  oneOf?: JsonSchemaNode[];
  properties?: Record<string, JsonSchemaNode>;
  required?: string[];
  additionalProperties?: boolean | JsonSchemaNode;
  items?: JsonSchemaNode;
  default?: unknown;
  minimum?: number;
  maximum?: number;
  exclusiveMinimum?: number;
  multipleOf?: number;
  minLength?: number;
  maxLength?: number;
  minItems?: number;
  maxItems?: number;
  pattern?: string;
}

export function toJsonSchema(schema: z.ZodType, io: 'input' | 'output'): JsonSchemaNode {
  return z.toJSONSchema(schema, { io }) as JsonSchemaNode;
}

interface Reading {
  readonly definitions: Readonly<Record<string, JsonSchemaNode>>;
  /** Contract components that the text names; they are compared once and not at every use. */
  readonly named: ReadonlyMap<string, string>;
  readonly facts: Facts;
}

const limits = [
  ['minimum', 'min'],
  ['maximum', 'max'],
  ['exclusiveMinimum', 'above'],
  ['multipleOf', 'multipleOf'],
  ['minLength', 'minLength'],
  ['maxLength', 'maxLength'],
  ['minItems', 'minItems'],
  ['maxItems', 'maxItems'],
] as const;

function definitionOf(reading: Reading, ref: string): JsonSchemaNode {
  const found = reading.definitions[ref.replace('#/$defs/', '')];
  if (found === undefined) throw new Error(`The schema refers to ${ref}, which it does not define.`);
  return found;
}

function readBranches(reading: Reading, branches: readonly JsonSchemaNode[], path: string): void {
  const literalKey = Object.entries(branches[0]?.properties ?? {}).find(
    ([, value]) => value.const !== undefined,
  )?.[0];
  if (literalKey === undefined && branches.some((branch) => branch.properties === undefined)) {
    reading.facts.set(
      `${path} type`,
      branches
        .map((branch) => String(branch.type))
        .toSorted()
        .join('|'),
    );
    return;
  }
  reading.facts.set(`${path} type`, 'oneOf');
  for (const [index, branch] of branches.entries()) {
    const value =
      literalKey === undefined ? index : `${literalKey}=${String(branch.properties?.[literalKey]?.const)}`;
    read(reading, branch, `${path}<${value}>`);
  }
}

function withoutDefault(schema: JsonSchemaNode): JsonSchemaNode {
  const { default: _, ...rest } = schema;
  return rest;
}

function read(reading: Reading, schema: JsonSchemaNode, path: string): void {
  const { facts } = reading;
  if (schema.default !== undefined) facts.set(`${path} default`, JSON.stringify(schema.default));
  if (schema.$ref !== undefined) {
    const name = reading.named.get(schema.$ref.replace('#/$defs/', ''));
    if (name === undefined) read(reading, definitionOf(reading, schema.$ref), path);
    else facts.set(`${path} type`, `ref ${name}`);
    return;
  }
  const alternatives = schema.oneOf ?? schema.anyOf;
  if (alternatives !== undefined) {
    const others = alternatives.filter((option) => option.type !== 'null');
    if (others.length < alternatives.length) facts.set(`${path} nullable`, 'true');
    const [only] = others;
    if (others.length === 1 && only !== undefined) read(reading, only, path);
    else readBranches(reading, others, path);
    return;
  }
  // A nullable scalar has a list of two types.
  if (Array.isArray(schema.type)) {
    const types = schema.type.filter((type) => type !== 'null');
    if (types.length < schema.type.length) facts.set(`${path} nullable`, 'true');
    read(reading, { ...withoutDefault(schema), type: types.join('|') }, path);
    return;
  }
  const values = schema.enum ?? (schema.const === undefined ? undefined : [schema.const]);
  if (values !== undefined) {
    facts.set(`${path} type`, 'enum');
    facts.set(`${path} enum`, values.map(String).toSorted().join(' '));
    return;
  }
  const isMap = schema.type === 'object' && schema.properties === undefined;
  const valueSchema = typeof schema.additionalProperties === 'object' ? schema.additionalProperties : {};
  const free = isMap && Object.keys(valueSchema).length === 0;
  facts.set(`${path} type`, isMap && !free ? 'map' : (schema.type ?? 'any'));
  for (const [keyword, name] of limits) {
    const limit = schema[keyword];
    if (limit !== undefined) facts.set(`${path} ${name}`, String(limit));
  }
  if (schema.pattern !== undefined) {
    facts.set(`${path} pattern`, schema.pattern === labelPattern ? 'label' : schema.pattern);
  }
  if (schema.items !== undefined) read(reading, schema.items, `${path}[]`);
  if (isMap && !free) read(reading, valueSchema, `${path}[]`);
  for (const [key, property] of Object.entries(schema.properties ?? {})) {
    const at = path === '' ? key : `${path}.${key}`;
    facts.set(`${at} required`, String(schema.required?.includes(key) ?? false));
    read(reading, property, at);
  }
}

export function factsOfJsonSchema(schema: JsonSchemaNode, named: ReadonlyMap<string, string>): Facts {
  const facts: Facts = new Map();
  const reading = { definitions: schema.$defs ?? {}, named, facts };
  read(reading, schema, '');
  return facts;
}
