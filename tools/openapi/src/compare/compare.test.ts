import { describe, expect, it } from 'vitest';
import { findBreakingChanges } from './document.ts';
import { rules, type Rule } from './rules.ts';

type Json = Record<string, unknown>;

const object = (properties: Json, more: Json = {}): Json => ({ type: 'object', properties, ...more });

interface Fields {
  readonly request?: unknown;
  readonly response?: unknown;
  readonly operation?: Json;
  readonly version?: string;
  readonly path?: string;
  readonly schemas?: Json;
  readonly schemes?: Json;
}

/** A document with one operation, and the parts of it that a case changes. */
function documentOf(fields: Fields): Json {
  const { request = object({}), response = object({}), operation = {}, path = '/things/{id}' } = fields;
  return {
    openapi: '3.1.0',
    info: { version: fields.version ?? '2.0.0' },
    paths: {
      [path]: {
        post: {
          operationId: 'makeThing',
          security: [{ Authorization: [] }],
          'x-scope': 'things:write',
          'x-aliases': ['/alias/{id}'],
          parameters: [{ name: 'id', in: 'path', required: true, schema: { type: 'string' } }],
          requestBody: { required: true, content: { 'application/json': { schema: request } } },
          responses: {
            200: {
              headers: { 'X-Request-Id': { schema: { type: 'string' } } },
              content: { 'application/json': { schema: response } },
            },
            400: { content: { 'application/json': { schema: object({ message: { type: 'string' } }) } } },
          },
          ...operation,
        },
      },
    },
    components: { schemas: fields.schemas ?? {}, securitySchemes: fields.schemes ?? { Authorization: {} } },
  };
}

const rulesOf = (before: Fields, after: Fields) =>
  findBreakingChanges(documentOf(before), documentOf(after)).map(({ rule }) => rule);

describe('an operation', () => {
  const parameter = (name: string, more: Json = {}) => ({
    parameters: [
      { name: 'id', in: 'path', required: true, schema: { type: 'string' } },
      { name, in: 'query', required: false, schema: { type: 'string' }, ...more },
    ],
  });
  const withoutBody = { requestBody: undefined };
  const text = { type: 'string' };

  it.each<[string, Fields, Fields, readonly Rule[]]>([
    ['moved to another path', {}, { path: '/other/{id}' }, ['operation-removed']],
    ['without its alias', {}, { operation: { 'x-aliases': [] } }, ['operation-removed']],
    ['with another id', {}, { operation: { operationId: 'createThing' } }, ['operation-id-changed']],
    ['that now needs a key', { operation: { security: [] } }, {}, ['security-added']],
    ['that needs another scope', {}, { operation: { 'x-scope': 'things:admin' } }, ['scope-changed']],
    ['without a query parameter', { operation: parameter('q') }, {}, ['parameter-removed']],
    [
      'with a parameter that became required',
      { operation: parameter('q') },
      { operation: parameter('q', { required: true }) },
      ['parameter-required'],
    ],
    [
      'with a new required parameter',
      {},
      { operation: parameter('q', { required: true }) },
      ['parameter-required'],
    ],
    [
      'with a narrower parameter',
      { operation: parameter('q', { schema: { type: 'string', maxLength: 6 } }) },
      { operation: parameter('q', { schema: { type: 'string', maxLength: 5 } }) },
      ['request-narrowed'],
    ],
    ['without its body', {}, { operation: withoutBody }, ['body-removed']],
    ['with a body it did not need', { operation: withoutBody }, {}, ['body-required']],
    [
      'that reads another media type',
      {},
      { operation: { requestBody: { required: true, content: { 'text/plain': { schema: text } } } } },
      ['media-type-removed'],
    ],
    [
      'that returns another status only',
      {},
      { operation: { responses: { 201: {}, 400: {} } } },
      ['status-removed', 'media-type-removed', 'success-status-added'],
    ],
    [
      'without a header',
      {},
      {
        operation: {
          responses: {
            200: { content: { 'application/json': { schema: object({}) } } },
            400: { content: { 'application/json': { schema: object({ message: text }) } } },
          },
        },
      },
      ['header-removed'],
    ],
    ['under another security scheme', {}, { schemes: { Bearer: {} } }, ['security-scheme-removed']],
  ])('%s breaks', (_what, before, after, expected) => {
    expect(rulesOf(before, after).toSorted()).toEqual([...expected].toSorted());
  });

  it.each<[string, Fields, Fields]>([
    ['that did not change', {}, {}],
    ['whose path parameter has another name', {}, { path: '/things/{thingId}' }],
    ['with a new optional parameter', {}, { operation: parameter('q') }],
    ['that no longer needs a key', {}, { operation: { security: [] } }],
    ['that admits every key', {}, { operation: { 'x-scope': undefined } }],
    [
      'whose alias became the path',
      { path: '/things/{id}' },
      { path: '/alias/{id}', operation: { 'x-aliases': ['/things/{id}'] } },
    ],
    ['in a new major version', {}, { version: '3.0.0', path: '/other' }],
  ])('%s does not break', (_what, before, after) => {
    expect(rulesOf(before, after)).toEqual([]);
  });
});

/** A schema change: less means fewer admitted values, more means more. */
const shifts: readonly [string, Json, Json, { less: boolean; more: boolean }][] = [
  ['string to integer', { type: 'string' }, { type: 'integer' }, { less: true, more: true }],
  ['number to integer', { type: 'number' }, { type: 'integer' }, { less: true, more: false }],
  ['any to string', {}, { type: 'string' }, { less: true, more: false }],
  ['nullable by type list', { type: 'string' }, { type: ['string', 'null'] }, { less: false, more: true }],
  [
    'nullable by branch, written as a type list',
    { anyOf: [{ type: 'string' }, { type: 'null' }] },
    { type: ['string', 'null'] },
    { less: false, more: false },
  ],
  ['an enum value removed', { enum: ['a', 'b'] }, { enum: ['a'] }, { less: true, more: false }],
  ['an enum value added', { enum: ['a'] }, { enum: ['a', 'b'] }, { less: false, more: true }],
  [
    'an enum value added to an extensible enum',
    { enum: ['a'], 'x-extensible': true },
    { enum: ['a', 'b'], 'x-extensible': true },
    { less: false, more: false },
  ],
  ['an enum imposed', { type: 'string' }, { type: 'string', enum: ['a'] }, { less: true, more: false }],
  [
    'minimum raised',
    { type: 'integer', minimum: 1 },
    { type: 'integer', minimum: 2 },
    { less: true, more: false },
  ],
  ['minimum dropped', { type: 'integer', minimum: 1 }, { type: 'integer' }, { less: false, more: true }],
  [
    'maximum lowered',
    { type: 'integer', maximum: 9 },
    { type: 'integer', maximum: 8 },
    { less: true, more: false },
  ],
  [
    'maxLength raised',
    { type: 'string', maxLength: 5 },
    { type: 'string', maxLength: 6 },
    { less: false, more: true },
  ],
  ['a first maxItems', { type: 'array' }, { type: 'array', maxItems: 3 }, { less: false, more: false }],
  ['a first maxLength', { type: 'string' }, { type: 'string', maxLength: 3 }, { less: false, more: false }],
  [
    'maxItems lowered',
    { type: 'array', maxItems: 4 },
    { type: 'array', maxItems: 3 },
    { less: true, more: false },
  ],
  [
    'a first bound of the names of a map',
    object({}, { propertyNames: { type: 'string' } }),
    object({}, { propertyNames: { type: 'string', maxLength: 9 } }),
    { less: false, more: false },
  ],
  [
    'a pattern imposed on the names of a map',
    object({}, {}),
    object({}, { propertyNames: { type: 'string', pattern: '^a$' } }),
    { less: true, more: false },
  ],
  [
    'multipleOf imposed',
    { type: 'integer' },
    { type: 'integer', multipleOf: 8 },
    { less: true, more: false },
  ],
  ['multipleOf loosened', { multipleOf: 256 }, { multipleOf: 128 }, { less: false, more: true }],
  ['multipleOf replaced', { multipleOf: 3 }, { multipleOf: 2 }, { less: true, more: true }],
  [
    'pattern replaced',
    { type: 'string', pattern: '^a' },
    { type: 'string', pattern: '^b' },
    { less: true, more: true },
  ],
  [
    'format dropped',
    { type: 'string', format: 'date-time' },
    { type: 'string' },
    { less: false, more: true },
  ],
  [
    'a field that became required',
    object({ a: {} }),
    object({ a: {} }, { required: ['a'] }),
    { less: true, more: false },
  ],
  [
    'a field that became optional',
    object({ a: {} }, { required: ['a'] }),
    object({ a: {} }),
    { less: false, more: true },
  ],
  ['an optional field added', object({ a: {} }), object({ a: {}, b: {} }), { less: false, more: false }],
  [
    'an optional field added to a closed object',
    object({ a: {} }, { additionalProperties: false }),
    object({ a: {}, b: {} }, { additionalProperties: false }),
    { less: false, more: true },
  ],
  ['an object closed', object({}), object({}, { additionalProperties: false }), { less: true, more: false }],
  ['an object opened', object({}, { additionalProperties: false }), object({}), { less: false, more: true }],
  [
    'map values narrowed',
    object({}, { additionalProperties: { type: 'number' } }),
    object({}, { additionalProperties: { type: 'integer' } }),
    { less: true, more: false },
  ],
  [
    'items narrowed',
    { type: 'array', items: { type: 'number' } },
    { type: 'array', items: { type: 'integer' } },
    { less: true, more: false },
  ],
  [
    'an alternative removed',
    { oneOf: [{ type: 'string' }, { type: 'boolean' }] },
    { oneOf: [{ type: 'string' }] },
    { less: true, more: false },
  ],
  [
    'an alternative added, identified by a constant',
    { oneOf: [object({ kind: { const: 'a' } }, { required: ['kind'] })] },
    {
      oneOf: [
        object({ kind: { const: 'b' } }, { required: ['kind'] }),
        object({ kind: { const: 'a' } }, { required: ['kind'] }),
      ],
    },
    { less: false, more: true },
  ],
  [
    'a constant field added to an alternative, identified by its discriminator',
    { oneOf: [object({ kind: { const: 'a' } })], discriminator: { propertyName: 'kind' } },
    {
      oneOf: [object({ kind: { const: 'a' }, unit: { const: 'gb' } }, { required: ['unit'] })],
      discriminator: { propertyName: 'kind' },
    },
    { less: true, more: false },
  ],
  [
    'an alternative changed inside',
    { oneOf: [object({ kind: { const: 'a' }, n: { type: 'number' } }, { required: ['kind'] })] },
    { oneOf: [object({ kind: { const: 'a' }, n: { type: 'integer' } }, { required: ['kind'] })] },
    { less: true, more: false },
  ],
  [
    'a condition added',
    { allOf: [{ type: 'string' }] },
    { allOf: [{ type: 'string' }, { type: 'string', format: 'uri' }] },
    { less: true, more: false },
  ],
  [
    'only descriptions and examples',
    { type: 'string', description: 'a' },
    { type: 'string', description: 'b', examples: ['c'] },
    { less: false, more: false },
  ],
];

describe.each(shifts)('a change of a schema (%s)', (_what, before, after, { less, more }) => {
  it(`${less ? 'breaks' : 'does not break'} a request`, () => {
    const found = rulesOf({ request: object({ field: before }) }, { request: object({ field: after }) });
    expect(new Set(found)).toEqual(new Set(less ? ['request-narrowed'] : []));
  });

  it(`${more ? 'breaks' : 'does not break'} a response`, () => {
    const found = rulesOf({ response: object({ field: before }) }, { response: object({ field: after }) });
    expect(new Set(found)).toEqual(new Set(more ? ['response-widened'] : []));
  });
});

describe('findBreakingChanges', () => {
  it('reports a removed field, in a request and in a response', () => {
    const [before, after] = [object({ a: {}, b: {} }), object({ a: {} })];
    expect(rulesOf({ request: before }, { request: after })).toEqual(['property-removed']);
    expect(rulesOf({ response: before }, { response: after })).toEqual(['property-removed']);
  });

  it('reports a changed default in a request', () => {
    const [before, after] = [object({ a: { default: 1 } }), object({ a: { default: 2 } })];
    expect(rulesOf({ request: before }, { request: after })).toEqual(['default-changed']);
    expect(rulesOf({ response: before }, { response: after })).toEqual([]);
  });

  it('follows references, also of a recursive schema', () => {
    const tree = (leaf: Json) => ({ Tree: object({ leaf, left: { $ref: '#/components/schemas/Tree' } }) });
    const response = { $ref: '#/components/schemas/Tree' };
    const before = { response, schemas: tree({ type: 'string' }) };
    expect(rulesOf(before, { response, schemas: tree({ type: 'string' }) })).toEqual([]);
    expect(rulesOf(before, { response, schemas: tree({ type: ['string', 'null'] }) })).toEqual([
      'response-widened',
    ]);
  });

  it('reports the place and the change', () => {
    const before = documentOf({
      request: object({ limits: object({ rpm: { type: 'integer', maximum: 9 } }) }),
    });
    const after = documentOf({
      request: object({ limits: object({ rpm: { type: 'integer', maximum: 8 } }) }),
    });
    expect(findBreakingChanges(before, after)).toEqual([
      {
        rule: 'request-narrowed',
        at: 'POST /things/{} request body.limits.rpm',
        what: 'maximum 9 became 8',
      },
    ]);
  });
});

it('rules: every rule has a case that violates it', async () => {
  const { readFileSync } = await import('node:fs');
  const cases = readFileSync(import.meta.filename, 'utf8');
  for (const rule of Object.keys(rules)) expect(cases, rule).toContain(`'${rule}'`);
});
