import { z } from 'zod';
import type { JsonSchema } from './types.ts';

/**
 * Converts zod schemas to JSON Schema and collects those with an id as components.
 *
 * A schema has two directions: input (a field with a default is optional) and output (it is always present). If
 * they differ, the component is published twice, the input as `NameInput`. Which ones differ is known only at
 * the end, so references are marked with their direction until then.
 */
export type SchemaDirection = 'input' | 'output';

export interface Components {
  /** The schema of a value in a request or response, with references to components. */
  use(schema: z.ZodType, face: SchemaDirection): JsonSchema;
  /** Every component used so far, in alphabetical order. */
  schemas(): Readonly<Record<string, JsonSchema>>;
  /** Resolves the marked references in a value that was built with `use`. */
  settle<Value>(value: Value): Value;
}

const prefix = '#/components/schemas/';
const inputMark = '::input';

export function createComponents(): Components {
  const found: Readonly<Record<SchemaDirection, Map<string, JsonSchema>>> = {
    input: new Map(),
    output: new Map(),
  };

  function keep(face: SchemaDirection, name: string, schema: JsonSchema): void {
    const known = found[face].get(name);
    if (known !== undefined && JSON.stringify(known) !== JSON.stringify(schema)) {
      throw new Error(`Two different schemas have the id "${name}". Give one of them another id.`);
    }
    found[face].set(name, schema);
  }

  function use(schema: z.ZodType, face: SchemaDirection): JsonSchema {
    const { $schema: _, $defs = {}, ...root } = convert(schema, face);
    for (const [name, definition] of Object.entries($defs as Record<string, JsonSchema>)) {
      const named = markReferences(definition, face) as JsonSchema;
      const { union, branches } = extractBranches(name, named, face);
      for (const [branchName, branch] of [...branches, [name, union] as const]) {
        keep(face, branchName, withoutLooseDiscriminators(branch) as JsonSchema);
      }
    }
    return withoutLooseDiscriminators(markReferences(root, face)) as JsonSchema;
  }

  function settle<Value>(value: Value): Value {
    const split = splitNames(found);
    return mapReferences(value, (name, face) =>
      face === 'input' && split.has(name) ? `${prefix}${name}Input` : `${prefix}${name}`,
    ) as Value;
  }

  function schemas(): Readonly<Record<string, JsonSchema>> {
    const split = splitNames(found);
    const all = new Map<string, JsonSchema>();
    for (const [name, schema] of found.output) all.set(name, settle(schema));
    for (const [name, schema] of found.input) {
      all.set(split.has(name) ? `${name}Input` : name, settle(schema));
    }
    return Object.fromEntries([...all].toSorted(([a], [b]) => (a < b ? -1 : 1)));
  }

  return { use, schemas, settle };
}

function convert(schema: z.ZodType, face: SchemaDirection): JsonSchema {
  return z.toJSONSchema(schema, {
    target: 'draft-2020-12',
    io: face,
    unrepresentable: 'throw',
    override: ({ zodSchema, jsonSchema }) => {
      const { def } = zodSchema._zod;
      // Responses may gain fields within a version, so only schemas that the contract closes are closed.
      if (face === 'output' && def.type === 'object' && def.catchall === undefined) {
        delete jsonSchema.additionalProperties;
      }
      if (def.type === 'union' && 'discriminator' in def && typeof def.discriminator === 'string') {
        jsonSchema['discriminator'] = { propertyName: def.discriminator };
      }
      // OpenAPI readers know these formats, so a pattern of 300 characters is not needed.
      if (typeof jsonSchema.format === 'string' && wellKnownFormats.has(jsonSchema.format)) {
        delete jsonSchema.pattern;
      }
    },
  }) as JsonSchema;
}

const wellKnownFormats: ReadonlySet<string> = new Set(['date-time', 'email', 'uri', 'ipv4', 'ipv6']);

/**
 * A discriminator can refer only to components, so the branches of a named union that a string discriminates
 * become components too: `ProviderData` by `providerId` gives `ProviderDataMock` and so on.
 */
function extractBranches(
  name: string,
  schema: JsonSchema,
  face: SchemaDirection,
): { readonly union: JsonSchema; readonly branches: readonly (readonly [string, JsonSchema])[] } {
  const { discriminator, oneOf, ...rest } = schema;
  if (discriminator === undefined || !Array.isArray(oneOf)) return { union: schema, branches: [] };
  const { propertyName } = discriminator as { propertyName: string };
  const taken = new Set<string>();
  const branches = (oneOf as JsonSchema[]).map((branch) => {
    const properties = branch['properties'] as Readonly<Record<string, JsonSchema>> | undefined;
    const value = properties?.[propertyName]?.['const'];
    if (typeof value !== 'string') return null;
    const branchName = unusedName(`${name}${pascalCase(value)}`, taken);
    taken.add(branchName);
    return { value, name: branchName, branch };
  });
  const named = branches.filter((branch) => branch !== null);
  if (named.length !== branches.length) return { union: { ...rest, oneOf }, branches: [] };
  const mark = face === 'input' ? inputMark : '';
  const union = {
    ...rest,
    oneOf: named.map((branch) => ({ $ref: `${prefix}${branch.name}${mark}` })),
    discriminator: {
      propertyName,
      mapping: Object.fromEntries(named.map((branch) => [branch.value, `${prefix}${branch.name}${mark}`])),
    },
  };
  return { union, branches: named.map((branch) => [branch.name, branch.branch] as const) };
}

/** Removes discriminators of unions with inline branches, where they have no meaning. */
function withoutLooseDiscriminators(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutLooseDiscriminators);
  if (typeof value !== 'object' || value === null) return value;
  const inline =
    'oneOf' in value &&
    Array.isArray(value.oneOf) &&
    value.oneOf.some(
      (branch: unknown) => typeof branch === 'object' && branch !== null && !('$ref' in branch),
    );
  const entries = Object.entries(value).filter(([key]) => !(inline && key === 'discriminator'));
  return Object.fromEntries(entries.map(([key, item]) => [key, withoutLooseDiscriminators(item)]));
}

/** Values that differ only in punctuation, such as `gpu-1` and `gpu1`, get numbered names. */
function unusedName(wanted: string, taken: ReadonlySet<string>): string {
  let name = wanted;
  for (let number = 2; taken.has(name); number += 1) name = `${wanted}_${number}`;
  return name;
}

function pascalCase(text: string): string {
  return text
    .split(/[^A-Za-z0-9]+/)
    .map((word) => word.charAt(0).toUpperCase() + word.slice(1))
    .join('');
}

/** Converts references to zod's definitions into references to components, marked with the direction. */
function markReferences(value: unknown, face: SchemaDirection): unknown {
  return mapStrings(value, (text) =>
    text.startsWith('#/$defs/')
      ? `${prefix}${text.slice('#/$defs/'.length)}${face === 'input' ? inputMark : ''}`
      : text,
  );
}

function mapReferences(value: unknown, to: (name: string, face: SchemaDirection) => string): unknown {
  return mapStrings(value, (text) => {
    if (!text.startsWith(prefix)) return text;
    const input = text.endsWith(inputMark);
    const name = text.slice(prefix.length, input ? -inputMark.length : undefined);
    return to(name, input ? 'input' : 'output');
  });
}

function mapStrings(value: unknown, map: (text: string) => string): unknown {
  if (typeof value === 'string') return map(value);
  if (Array.isArray(value)) return value.map((item) => mapStrings(item, map));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, mapStrings(item, map)]));
}

/** The names whose input and output differ, directly or through a reference. */
function splitNames(
  found: Readonly<Record<SchemaDirection, ReadonlyMap<string, JsonSchema>>>,
): ReadonlySet<string> {
  const both = [...found.input.keys()].filter((name) => found.output.has(name));
  const split = new Set<string>();
  const textOf = (schema: JsonSchema | undefined) =>
    JSON.stringify(mapReferences(schema, (name) => `${prefix}${name}`));
  for (const name of both) {
    if (textOf(found.input.get(name)) !== textOf(found.output.get(name))) split.add(name);
  }
  for (let grown = true; grown;) {
    grown = false;
    for (const name of both) {
      if (split.has(name) || !refersTo(found.input.get(name), split)) continue;
      split.add(name);
      grown = true;
    }
  }
  return split;
}

function refersTo(schema: JsonSchema | undefined, names: ReadonlySet<string>): boolean {
  let refers = false;
  mapReferences(schema, (name) => {
    refers ||= names.has(name);
    return name;
  });
  return refers;
}
