import { describe, expect, it } from 'vitest';
import { UnsupportedSchemaError, valueForSchema } from './json-schema-value.ts';

const object = (properties: object, required = Object.keys(properties)) => ({
  type: 'object',
  properties,
  required,
  additionalProperties: false,
});

const long = 'x'.repeat(2_000);
const names = Array.from({ length: 200 }, (_, nth) => `name${nth}`);

describe('valueForSchema', () => {
  it.each([
    [{ type: 'string' }, 'mock'],
    [{ type: ['string', 'null'] }, 'mock'],
    [{ type: 'string', format: 'constructor' }, 'mock'],
    [{ type: 'string', minLength: 7, maxLength: 7 }, 'mock mo'],
    [{ type: 'string', maxLength: 2 }, 'mo'],
    [{ type: 'string', format: 'date' }, '2026-01-01'],
    [{ enum: ['red', 'green'] }, 'red'],
    [{ const: 7 }, 7],
    [{ type: 'integer' }, 1],
    [{ type: 'integer', minimum: 10 }, 10],
    [{ type: 'integer', exclusiveMinimum: 10 }, 11],
    [{ type: 'integer', maximum: -3 }, -3],
    [{ type: 'integer', minimum: 11, multipleOf: 5 }, 15],
    [{ type: 'number', minimum: 0.2, maximum: 0.7 }, 0.2],
    [{ type: 'number', exclusiveMinimum: 0.2, exclusiveMaximum: 0.4 }, 0.30000000000000004],
    [{ type: 'boolean' }, true],
    [{ type: 'null' }, null],
    [{ type: 'array', items: { type: 'integer' }, minItems: 2 }, [1, 1]],
    [{ type: 'array', items: { type: 'integer' }, maxItems: 0 }, []],
    [{ type: 'array', prefixItems: [{ type: 'integer' }, { type: 'boolean' }] }, [1, true]],
    [{ anyOf: [{ type: 'null' }, { type: 'string' }] }, null],
    [{ allOf: [object({ a: { type: 'null' } }), object({ b: { type: 'boolean' } })] }, { a: null, b: true }],
    [object({ name: { type: 'string' }, age: { type: 'integer' } }), { name: 'mock', age: 1 }],
    [{ $ref: '#/$defs/x', $defs: { x: { type: 'boolean' } } }, true],
    [{}, 'mock'],
  ])('makes %j into %j', (schema, value) => {
    expect(valueForSchema(schema)).toEqual(value);
  });

  it('ends recursive schemas where they can end', () => {
    const tree = {
      ...object({ value: { type: 'integer' }, next: { anyOf: [{ $ref: '#' }, { type: 'null' }] } }),
    };
    const text = JSON.stringify(valueForSchema(tree));
    expect(text.startsWith('{"value":1,"next":{"value":1')).toBe(true);
    expect(text).toContain('"next":null');
  });

  it('treats names of Object.prototype members like any other', () => {
    const schema = JSON.parse(
      '{"type":"object","properties":{"__proto__":{"type":"integer"}},"required":["__proto__"]}',
    ) as object;
    expect(JSON.stringify(valueForSchema(schema))).toBe('{"__proto__":1}');
  });

  it.each([
    ['a pattern', { type: 'string', pattern: '^a+$' }],
    ['a loop of references', { $ref: '#' }],
    ['a reference to nothing', { $ref: '#/$defs/none' }],
    ['a foreign reference', { $ref: 'https://example.com/schema' }],
    ['bounds without a number between them', { type: 'integer', minimum: 3, maximum: 2 }],
    ['an endless text', { type: 'string', minLength: 1_000_000_000 }],
    ['an endless list', { type: 'array', items: { type: 'null' }, minItems: 1_000_000_000 }],
    ['a long constant for each value', { type: 'array', minItems: 1_000, items: { const: long } }],
    ['a long alternative for each value', { type: 'array', minItems: 1_000, items: { enum: [long] } }],
    ['many required names for each value', { type: 'array', minItems: 1_000, items: { required: names } }],
    [
      'a long name for each value',
      { type: 'array', minItems: 1_000, items: { properties: { [long]: true } } },
    ],
    [
      'a large target of many references',
      {
        ...{ type: 'array', minItems: 900, items: { $ref: '#/$defs/large' } },
        $defs: { large: { const: 1, properties: Object.fromEntries(names.map((name) => [name, true])) } },
      },
    ],
    [
      'alternatives of a large schema',
      { type: 'array', minItems: 900, items: { anyOf: [{ const: 1 }], required: names } },
    ],
    ['a long text for each value', { type: 'array', minItems: 1_000, items: { minLength: 2_000 } }],
    [
      'a long reference for each value',
      { type: 'array', minItems: 1_000, items: { properties: { a: { $ref: `#/${long}` } } } },
    ],
  ])('refuses %s', (_, schema) => {
    expect(() => valueForSchema(schema)).toThrow(UnsupportedSchemaError);
  });

  it('refuses references that grow without limit, in bounded time', () => {
    const names = Array.from({ length: 30 }, (_, nth) => nth);
    const $defs = Object.fromEntries(
      names.map((nth) => [
        `d${nth}`,
        object({ a: { $ref: `#/$defs/d${nth + 1}` }, b: { $ref: `#/$defs/d${nth + 1}` } }),
      ]),
    );
    expect(() => valueForSchema({ $ref: '#/$defs/d0', $defs })).toThrow(UnsupportedSchemaError);
  });
});
