import fc from 'fast-check';

/** The part of JSON Schema that the contract's schemas produce. */
export interface JsonSchema {
  readonly $ref?: string;
  readonly $defs?: Readonly<Record<string, JsonSchema>>;
  readonly type?: string | readonly string[];
  readonly const?: unknown;
  readonly enum?: readonly unknown[];
  readonly anyOf?: readonly JsonSchema[];
  readonly oneOf?: readonly JsonSchema[];
  readonly allOf?: readonly JsonSchema[];
  readonly properties?: Readonly<Record<string, JsonSchema>>;
  readonly required?: readonly string[];
  readonly propertyNames?: JsonSchema;
  readonly additionalProperties?: boolean | JsonSchema;
  readonly items?: JsonSchema;
  readonly minItems?: number;
  readonly maxItems?: number;
  readonly pattern?: string;
  readonly format?: string;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly exclusiveMinimum?: number;
  readonly exclusiveMaximum?: number;
  readonly multipleOf?: number;
}

const MAX_COLLECTION_SIZE = 4;
const MAX_STRING_LENGTH = 64;

/**
 * Values that satisfy a schema. JSON Schema cannot express cross-field rules, so samples are only probably valid; the share
 * that handlers accept is measured.
 */
export function valuesOf(schema: JsonSchema, root: JsonSchema = schema): fc.Arbitrary<unknown> {
  if (schema.$ref !== undefined) return valuesOf(resolve(schema.$ref, root), root);
  if (schema.const !== undefined) return fc.constant(schema.const);
  if (schema.enum !== undefined) return fc.constantFrom(...schema.enum);
  const alternatives = schema.anyOf ?? schema.oneOf;
  if (alternatives !== undefined) return fc.oneof(...alternatives.map((each) => valuesOf(each, root)));
  if (schema.allOf !== undefined) return allOf(schema.allOf, root);
  if (Array.isArray(schema.type)) {
    const types: readonly string[] = schema.type;
    return fc.oneof(...types.map((type) => valuesOf({ ...schema, type }, root)));
  }
  switch (schema.type) {
    case 'string':
      return strings(schema);
    case 'integer':
      return integers(schema);
    case 'number':
      return numbers(schema);
    case 'boolean':
      return fc.boolean();
    case 'null':
      return fc.constant(null);
    case 'array':
      return arrays(schema, root);
    case 'object':
      return objects(schema, root);
    default:
      return fc.jsonValue({ maxDepth: 1 });
  }
}

function resolve(ref: string, root: JsonSchema): JsonSchema {
  const name = ref.replace('#/$defs/', '');
  const found = ref === '#' ? root : root.$defs?.[name];
  if (found === undefined) throw new Error(`The schema refers to ${ref}, which it does not define.`);
  return found;
}

function allOf(schemas: readonly JsonSchema[], root: JsonSchema): fc.Arbitrary<unknown> {
  return fc.tuple(...schemas.map((part) => valuesOf(part, root))).map((values) => {
    const plain = values.every((value) => typeof value === 'object' && value !== null);
    return plain ? Object.assign({}, ...(values as object[])) : values[0];
  });
}

function strings(schema: JsonSchema): fc.Arbitrary<string> {
  const minLength = schema.minLength ?? 0;
  const maxLength = Math.max(minLength, Math.min(schema.maxLength ?? MAX_STRING_LENGTH, MAX_STRING_LENGTH));
  if (schema.format === 'date-time') {
    // Near the present, because dates far away are rarely valid expiry dates.
    return fc
      .date({ min: new Date('2020-01-01'), max: new Date('2045-01-01'), noInvalidDate: true })
      .map((date) => date.toISOString());
  }
  if (schema.format === 'uri') return fc.webUrl({ validSchemes: ['https'] });
  if (schema.pattern !== undefined) {
    const pattern = new RegExp(schema.pattern, 'u');
    return fc
      .stringMatching(pattern)
      .map((text) => text.slice(0, schema.maxLength ?? text.length))
      .filter((text) => text.length >= minLength && pattern.test(text));
  }
  return fc.oneof(
    {
      weight: 3,
      arbitrary: fc.stringMatching(/^[a-z][a-z0-9 -]*$/u).map((text) => fit(text, minLength, maxLength)),
    },
    { weight: 1, arbitrary: fc.string({ minLength, maxLength, unit: 'grapheme' }) },
  );
}

function fit(text: string, minLength: number, maxLength: number): string {
  return text.padEnd(minLength, 'x').slice(0, maxLength);
}

function integers(schema: JsonSchema): fc.Arbitrary<number> {
  const step = schema.multipleOf ?? 1;
  const low = schema.exclusiveMinimum !== undefined ? schema.exclusiveMinimum + 1 : (schema.minimum ?? -1000);
  const high =
    schema.exclusiveMaximum !== undefined ? schema.exclusiveMaximum - 1 : (schema.maximum ?? low + 100_000);
  const first = Math.ceil(low / step);
  const last = Math.max(first, Math.floor(high / step));
  return fc.integer({ min: first, max: Math.min(last, first + 2 ** 31) }).map((count) => count * step);
}

function numbers(schema: JsonSchema): fc.Arbitrary<number> {
  if (schema.multipleOf !== undefined) return integers(schema);
  const min = schema.exclusiveMinimum ?? schema.minimum ?? -1000;
  const max = schema.exclusiveMaximum ?? schema.maximum ?? min + 100_000;
  return fc.oneof(
    fc.double({
      min,
      max,
      noNaN: true,
      minExcluded: schema.exclusiveMinimum !== undefined,
      maxExcluded: schema.exclusiveMaximum !== undefined,
    }),
    fc.integer({ min: Math.floor(min) + 1, max: Math.max(Math.floor(min) + 1, Math.floor(max)) }),
  );
}

function arrays(schema: JsonSchema, root: JsonSchema): fc.Arbitrary<unknown[]> {
  const minLength = schema.minItems ?? 0;
  const maxLength = Math.max(
    minLength,
    Math.min(schema.maxItems ?? MAX_COLLECTION_SIZE, MAX_COLLECTION_SIZE),
  );
  return fc.array(valuesOf(schema.items ?? {}, root), { minLength, maxLength });
}

function objects(schema: JsonSchema, root: JsonSchema): fc.Arbitrary<unknown> {
  const fields: Record<string, fc.Arbitrary<unknown>> = {};
  for (const [name, field] of Object.entries(schema.properties ?? {})) fields[name] = valuesOf(field, root);
  const known = fc.record(fields, { requiredKeys: [...(schema.required ?? [])] });
  const { additionalProperties } = schema;
  if (typeof additionalProperties !== 'object') return known;
  const keys =
    schema.propertyNames === undefined
      ? fc.stringMatching(/^[a-z]{1,8}$/u)
      : (valuesOf(schema.propertyNames, root) as fc.Arbitrary<string>);
  const extra = fc.dictionary(keys, valuesOf(additionalProperties, root), { maxKeys: MAX_COLLECTION_SIZE });
  return fc.tuple(extra, known).map(([more, value]) => ({ ...more, ...(value as object) }));
}
