import { readFileSync } from 'node:fs';
import { documentNames } from '@millrace/contract/openapi';
import { describe, expect, test } from 'vitest';
import { unboundedIn } from './bounds.ts';
import { documentFile } from './documents.ts';

type Json = Readonly<Record<string, unknown>>;

/** A document with one operation whose path, query, header and body have the schema. */
function documentWith(schema: Json, components: Json = {}): Json {
  return {
    components: { schemas: components },
    paths: { '/things': { post: { requestBody: { content: { 'application/json': { schema } } } } } },
  };
}

const unbounded: readonly (readonly [string, Json])[] = [
  ['a text', { type: 'string' }],
  ['a text that may be null', { type: ['string', 'null'] }],
  ['a text whose pattern repeats without end', { type: 'string', pattern: '^[a-z]+$' }],
  ['a text whose pattern has an alternative beyond its ends', { type: 'string', pattern: '^a$|b$' }],
  ['a text in an object', { type: 'object', properties: { name: { type: 'string' } } }],
  ['a text in a list', { type: 'array', maxItems: 3, items: { type: 'string' } }],
  ['a list', { type: 'array', items: { type: 'integer' } }],
  ['a text among alternatives', { anyOf: [{ type: 'integer' }, { type: 'string' }] }],
  ['a map', { type: 'object', propertyNames: { maxLength: 9 }, additionalProperties: { type: 'integer' } }],
  ['the names of a map', { type: 'object', maxProperties: 9, additionalProperties: { type: 'integer' } }],
  ['a text behind a reference', { $ref: '#/components/schemas/Name' }],
];

const bounded: readonly (readonly [string, Json])[] = [
  ['a text with maxLength', { type: 'string', maxLength: 9 }],
  ['a constant', { type: 'string', const: 'a' }],
  ['one of some texts', { type: 'string', enum: ['a', 'b'] }],
  ['a text of a bounded pattern', { type: 'string', pattern: '^-?(0|[1-9][0-9]{0,18})$' }],
  ['a list with maxItems', { type: 'array', maxItems: 3, items: { type: 'integer' } }],
  ['an open object', { type: 'object', properties: {}, additionalProperties: {} }],
];

describe('unboundedIn', () => {
  test.each(unbounded)('reports %s', (_what, schema) => {
    expect(unboundedIn(documentWith(schema, { Name: { type: 'string' } }))).toHaveLength(1);
  });

  test.each(bounded)('accepts %s', (_what, schema) => {
    expect(unboundedIn(documentWith(schema))).toEqual([]);
  });

  test('reports parameters of the path, the query and headers', () => {
    const parameters = ['path', 'query', 'header'].map((place) => ({
      name: 'x',
      in: place,
      schema: { type: 'string' },
    }));
    expect(unboundedIn({ paths: { '/things/{x}': { get: { parameters } } } }).map(({ at }) => at)).toEqual([
      'GET /things/{x} path x',
      'GET /things/{x} query x',
      'GET /things/{x} header x',
    ]);
  });

  test('terminates for a recursive schema', () => {
    const tree = { type: 'object', properties: { left: { $ref: '#/components/schemas/Tree' } } };
    expect(unboundedIn(documentWith({ $ref: '#/components/schemas/Tree' }, { Tree: tree }))).toEqual([]);
  });
});

test.each(documentNames)('contract: every request of %s has size limits', (name) => {
  expect(unboundedIn(JSON.parse(readFileSync(documentFile(name), 'utf8')) as Json)).toEqual([]);
});
