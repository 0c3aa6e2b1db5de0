import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import type { z } from 'zod';
import { contract } from '../contract.ts';
import {
  conformanceProblems,
  contractFacts,
  factsOfSubject,
  baselineOnly,
  jsonSchemasOf,
  subjectDisagreements,
  subjectsOf,
} from './compare.ts';
import { parseSpec } from './spec-text.ts';
import type { JsonSchemaNode } from './json-schema.ts';
import { mutationsOf } from './mutations.ts';
import { probesOf, sample } from './probes.ts';
import type { ProbeContext } from './probes.ts';
import { factsOfShape } from './shape.ts';

const text = readFileSync(new URL('../../../../docs/interface.md', import.meta.url), 'utf8');
const operations = baselineOnly(contract);
const schemas = jsonSchemasOf(contract);
const facts = contractFacts(schemas);
const stated = parseSpec(text);

describe('contract and docs/interface.md', () => {
  it('agree on every operation, field, type, requirement, default, enum, region set and limit', () => {
    expect(conformanceProblems(text, operations, facts)).toEqual([]);
  });

  it('have at least the expected number of common facts', () => {
    const compared = [...stated.subjects.keys()].reduce((sum, name) => sum + (facts.get(name)?.size ?? 0), 0);
    expect(stated.operations).toHaveLength(18);
    expect(stated.subjects.size).toBeGreaterThanOrEqual(33);
    expect(compared).toBeGreaterThan(1000);
  });

  it('have region sets of the expected sizes', () => {
    expect(Object.fromEntries([...stated.regionSets].map(([name, values]) => [name, values.length]))).toEqual(
      {
        'Region values': 29,
        'virtual-machine set': 22,
        'bare-metal create set': 7,
        'storage-volume record set': 28,
        'storage-volume create set': 28,
      },
    );
  });
});

/** Tokens of the text that a contract cannot break: prose, examples, and "any value or null". */
const immaterial = new Set([
  'or null in "…| orgId | any value "',
  'or null in "…Id string (max 50); orgId any "',
  'string in "…An object selected by the "',
  'optional in "…Variant-specific "',
  '1 in "…### Marketplace machine (v"',
  'required in "…| cluster_name | string, "',
  'string in "…ace machine/instance status | "',
  '2 in "…All v"',
  '`{base_url}` in "…All v2 operations are under "',
  '2 in "…-readable description of the v"',
  '2 in "…variants: not shown. Further v"',
  '`{v1_base_url}` in "…### v1 operations (at "',
  'number in "…| logprobs | int | optional, "',
  '`stop` in "… finish_reason string such as "',
  '3 in "…d audio file (decoded to an MP"',
  '2 in "…v"',
  '1 in "…r statuses and bodies of the v"',
  '2 in "…- The v"',
]);

/** The comparison takes seconds on an idle machine; the timeout is for a busy one. */
const sweepTimeoutMs = 120_000;

describe('conformanceProblems', () => {
  it(
    'reports every number, literal, type, requirement and row that changes in the text',
    () => {
      const mutations = mutationsOf(text);
      const missed = mutations.filter(
        (mutation) => conformanceProblems(mutation.text, operations, facts).length === 0,
      );
      expect(new Set(missed.map(({ what }) => what))).toEqual(immaterial);
      expect(mutations.length).toBeGreaterThan(700);
    },
    sweepTimeoutMs,
  );

  it(
    'reports every field, enum value, limit, default and requirement removed from the contract',
    () => {
      let taken = 0;
      const missed: string[] = [];
      for (const [name, shape] of stated.subjects) {
        const schema = schemas.get(name);
        const held = facts.get(name);
        if (schema === undefined || held === undefined) throw new Error(`The contract has no ${name}.`);
        const shapeFacts = factsOfShape(shape, '');
        for (const [place, change] of removalsOf(schema)) {
          const changed = structuredClone(schema);
          change(changed);
          const left = factsOfSubject(changed);
          // The comparison does not protect additions, which the text does not have.
          if ([...shapeFacts.keys()].every((key) => left.get(key) === held.get(key))) continue;
          taken += 1;
          if (subjectDisagreements(name, shapeFacts, left).length === 0) missed.push(`${name}: ${place}`);
        }
      }
      expect(missed).toEqual([]);
      expect(taken).toBeGreaterThan(800);
    },
    sweepTimeoutMs,
  );

  it('reports an operation that is missing and one that the text does not have', () => {
    for (const operation of operations) {
      const others = operations.filter(({ id }) => id !== operation.id);
      expect(conformanceProblems(text, others, facts), operation.id).not.toEqual([]);
      const renamed = operations.map((other) =>
        other === operation ? { ...other, path: '/v2/else' as const } : other,
      );
      expect(conformanceProblems(text, renamed, facts), operation.id).not.toEqual([]);
    }
  });
});

type Removal = readonly [place: string, change: (root: JsonSchemaNode) => void];

const limitKeywords = [
  'minimum',
  'maximum',
  'exclusiveMinimum',
  'multipleOf',
  'minLength',
  'maxLength',
  'minItems',
  'maxItems',
  'pattern',
  'default',
] as const;

/** One removal per keyword of a JSON Schema, each applied to a fresh copy. */
function removalsOf(schema: JsonSchemaNode): Removal[] {
  const removals: Removal[] = [];
  const walk = (node: JsonSchemaNode, place: readonly (string | number)[]): void => {
    const at = place.join('/');
    const here = (root: JsonSchemaNode): JsonSchemaNode =>
      place.reduce<unknown>((value, key) => (value as Record<string, unknown>)[key], root) as JsonSchemaNode;
    for (const keyword of limitKeywords) {
      if (node[keyword] !== undefined)
        removals.push([`${at}/${keyword}`, (root) => void delete here(root)[keyword]]);
    }
    for (const value of node.enum ?? []) {
      const drop = (root: JsonSchemaNode): void => {
        here(root).enum = (here(root).enum ?? []).filter((other) => other !== value);
      };
      removals.push([`${at}/enum ${String(value)}`, drop]);
    }
    for (const name of Object.keys(node.properties ?? {})) {
      removals.push([`${at}/properties/${name}`, (root) => void delete here(root).properties?.[name]]);
    }
    for (const name of node.required ?? []) {
      const drop = (root: JsonSchemaNode): void => {
        here(root).required = (here(root).required ?? []).filter((other) => other !== name);
      };
      removals.push([`${at}/required ${name}`, drop]);
    }
    for (const [key, inner] of Object.entries(node)) {
      if (typeof inner !== 'object' || inner === null) continue;
      if (key === 'properties' || key === '$defs') {
        for (const [name, child] of Object.entries(inner))
          walk(child as JsonSchemaNode, [...place, key, name]);
      } else if (Array.isArray(inner) && (key === 'anyOf' || key === 'oneOf')) {
        for (const [index, child] of inner.entries()) walk(child as JsonSchemaNode, [...place, key, index]);
      } else if (key === 'items' || key === 'additionalProperties')
        walk(inner as JsonSchemaNode, [...place, key]);
    }
  };
  walk(schema, []);
  return removals;
}

/** Paths where a decision accepts more or fewer values than the text; the decided tests below probe them. */
const decided: Readonly<Record<string, readonly string[]>> = {
  'POST /v1/chat/completions request': ['messages', 'logprobs', 'top_logprobs', 'stop', 'max_tokens', 'n'],
  'POST /v1/chat/completions response': ['choices[].message.content'],
  'POST /v1/image/generation request': ['height', 'width'],
};

function contextFor(name: string): ProbeContext {
  return {
    recordNamed: (record) => {
      const shape = stated.subjects.get(record);
      if (shape === undefined) throw new Error(`The text has no record ${record}.`);
      return shape;
    },
    skip: (path) => decided[name]?.includes(path) === true,
  };
}

/** Required fields beyond the text, so that a probe of one field fails for no other reason. */
const completions: Readonly<Record<string, object>> = {
  'POST /v1/chat/completions request': {
    messages: [{ role: 'user', content: 'Hello' }],
    logprobs: 1,
    top_logprobs: 1,
    stop: ['.'],
    max_tokens: 1,
    n: 1,
  },
  'POST /v2/alpha/on-demand/storage-volumes response': {
    region: 'us-central-1',
    label: 'data',
    sizeInGb: 256,
  },
  'POST /v1/image/generation request': { height: 512, width: 512 },
  'POST /v1/image/generation response': { inference_time: 1 },
  'POST /v1/audio/generation response': { inference_time: 1, sample_rate: 44_100, usage: 5 },
};

const itemCompletions: Readonly<Record<string, object>> = {
  'POST /v1/image/generation response': { index: 0, random_seed: 1 },
};

function completed(name: string, value: unknown): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value;
  const whole: Record<string, unknown> = { ...value };
  const fields = stated.subjects.get(name)?.fields ?? [];
  for (const [key, completion] of Object.entries(completions[name] ?? {})) {
    // Keep a field of the text absent if the probe left it out.
    if (Object.hasOwn(whole, key) || !fields.some((field) => field.name === key)) whole[key] = completion;
  }
  const item = itemCompletions[name];
  if (item !== undefined && Array.isArray(whole['images'])) {
    whole['images'] = whole['images'].map((image: unknown) =>
      typeof image === 'object' && image !== null ? { ...image, ...item } : image,
    );
  }
  return whole;
}

describe('limits and types of docs/interface.md', () => {
  const subjects = subjectsOf(contract);
  for (const [name, shape] of stated.subjects) {
    if (name.endsWith(' event')) continue;
    it(`${name} accepts values that the text allows and refuses others`, () => {
      const schema: z.ZodType | undefined = subjects.get(name)?.schema;
      if (schema === undefined) throw new Error(`The contract has no ${name}.`);
      const { accept, reject } = probesOf(shape, contextFor(name));
      const refused = accept.filter((value) => !schema.safeParse(completed(name, value)).success);
      const accepted = reject.filter((value) => schema.safeParse(completed(name, value)).success);
      expect(refused).toEqual([]);
      expect(accepted).toEqual([]);
      expect(accept.length + reject.length).toBeGreaterThan(2);
    });
  }

  it('have the defaults of the text', () => {
    for (const [name, shape] of stated.subjects) {
      const schema = subjects.get(name)?.schema;
      const whole = completed(name, sample(shape, contextFor(name))) as object;
      for (const field of shape.fields ?? []) {
        if (field.shape.default === undefined) continue;
        const { [field.name]: _, ...rest } = whole as Record<string, unknown>;
        expect(schema?.parse(rest), `${name} ${field.name}`).toMatchObject({
          [field.name]: field.shape.default,
        });
      }
    }
  });
});
