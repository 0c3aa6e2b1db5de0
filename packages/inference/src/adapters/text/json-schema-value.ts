import { asList, asObject, asText, type JsonObject } from './engine-json.ts';

/** Builds a value that satisfies a JSON schema, for the mock engine. Pure: equal schemas give equal values. */

/** Names the unsupported keyword and no text of the tenant. */
export class UnsupportedSchemaError extends Error {
  constructor(keyword: string) {
    super(`The mock does not support ${keyword} in a JSON schema.`);
    this.name = 'SchemaNotSupported';
  }
}

/** Limits memory: a few mutual references could require any number of values. */
const maxValues = 2_000;
const tooManyValues = 'too many values';
const maxTextLength = 10_000;
const maxDepth = 24;

const unsupportedKeywords = [
  'pattern',
  'not',
  'if',
  'dependentRequired',
  'dependentSchemas',
  'contains',
  'patternProperties',
];

export function valueForSchema(schema: unknown): unknown {
  const maker = new SchemaValueBuilder(asObject(schema) ?? {});
  return maker.make(schema, 0);
}

class SchemaValueBuilder {
  readonly #root: JsonObject;
  #left = maxValues;

  constructor(root: JsonObject) {
    this.#root = root;
  }

  make(schema: unknown, depth: number): unknown {
    this.#left -= 1;
    if (this.#left < 0) throw new UnsupportedSchemaError(tooManyValues);
    if (depth > maxDepth) throw new UnsupportedSchemaError('deep nesting');
    const found = asObject(schema);
    // `true` allows every value.
    if (found === null) return 'mock';
    const whole = this.#resolve(found);
    for (const keyword of unsupportedKeywords)
      if (keyword in whole) throw new UnsupportedSchemaError(keyword);
    if ('const' in whole) return this.#copy(whole['const']);
    const choices = asList(whole['enum']);
    if (choices.length > 0) return this.#copy(choices[0]);
    const branches = [...asList(whole['anyOf']), ...asList(whole['oneOf'])];
    this.#count(branches.length);
    if (branches.length > 0) return this.#makeBranch(whole, branches, depth);
    return this.#makeType(whole, depth);
  }

  /** Counts content copied from the schema: 64 names or characters count as one value. */
  #count(copied: number): void {
    this.#left -= copied >>> 6;
    if (this.#left < 0) throw new UnsupportedSchemaError(tooManyValues);
  }

  #copy(value: unknown): unknown {
    this.#count(JSON.stringify(value).length);
    return value;
  }

  /** Tries the alternatives in order, because recursive schemas can end in a later one. */
  #makeBranch(whole: JsonObject, branches: readonly unknown[], depth: number): unknown {
    const { anyOf: _any, oneOf: _one, ...rest } = whole;
    let lastError: unknown = null;
    for (const branch of branches) {
      this.#count(namesIn(whole) + namesIn(branch));
      try {
        return this.make({ ...rest, ...asObject(branch) }, depth + 1);
      } catch (error) {
        if (!(error instanceof UnsupportedSchemaError) || this.#left < 0) throw error;
        lastError = error;
      }
    }
    throw lastError;
  }

  #resolve(schema: JsonObject): JsonObject {
    let found = schema;
    for (let nth = 0; nth <= maxDepth; nth += 1) {
      const ref = asText(found['$ref']);
      const schemas = asList(found['allOf']);
      if (ref === null && schemas.length === 0) return found;
      const { $ref: _ref, allOf: _all, ...rest } = found;
      const target = ref === null ? {} : this.#find(ref);
      for (const part of [rest, target, ...schemas]) this.#count(namesIn(part));
      found = [target, ...schemas].reduce<JsonObject>((sum, part) => merge(sum, asObject(part) ?? {}), rest);
      this.#left -= 1 + schemas.length;
      if (this.#left < 0) break;
    }
    throw new UnsupportedSchemaError('long chains of $ref');
  }

  #find(ref: string): JsonObject {
    if (ref === '#') return this.#root;
    this.#count(ref.length);
    if (!ref.startsWith('#/')) throw new UnsupportedSchemaError('$ref to another document');
    let at: unknown = this.#root;
    for (const part of ref.slice(2).split('/')) {
      const name = part.replaceAll('~1', '/').replaceAll('~0', '~');
      const object = asObject(at);
      at = object !== null && Object.hasOwn(object, name) ? object[name] : undefined;
    }
    const found = asObject(at);
    if (found === null) throw new UnsupportedSchemaError('a $ref without its target');
    return found;
  }

  #makeType(schema: JsonObject, depth: number): unknown {
    switch (typeOf(schema)) {
      case 'null':
        return null;
      case 'boolean':
        return true;
      case 'integer':
      case 'number':
        return numberFor(schema);
      case 'array':
        return this.#makeList(schema, depth);
      case 'object':
        return this.#makeObject(schema, depth);
      default:
        return this.#copy(textFor(schema));
    }
  }

  #makeList(schema: JsonObject, depth: number): unknown[] {
    const first = asList(schema['prefixItems']);
    const least = countOf(schema['minItems']) ?? (first.length > 0 ? first.length : 1);
    const most = countOf(schema['maxItems']) ?? Number.MAX_SAFE_INTEGER;
    const count = Math.min(least, most);
    if (count > maxValues) throw new UnsupportedSchemaError(tooManyValues);
    if (schema['uniqueItems'] === true && count > 1) throw new UnsupportedSchemaError('uniqueItems');
    return Array.from({ length: count }, (_, at) => this.make(first[at] ?? schema['items'], depth + 1));
  }

  #makeObject(schema: JsonObject, depth: number): JsonObject {
    const properties = asObject(schema['properties']) ?? {};
    this.#count(namesIn(schema));
    const required = new Set(asList(schema['required']).map((name) => asText(name) ?? ''));
    const made: Record<string, unknown> = Object.create(null) as Record<string, unknown>;
    for (const [name, property] of Object.entries(properties)) {
      this.#count(name.length);
      try {
        made[name] = this.make(property, depth + 1);
      } catch (error) {
        // Optional properties can be left out; this ends recursive schemas.
        if (required.has(name) || !(error instanceof UnsupportedSchemaError) || this.#left < 0) throw error;
      }
    }
    for (const name of required) {
      if (name in made) continue;
      this.#count(name.length);
      made[name] = this.make(true, depth + 1);
    }
    return made;
  }
}

/** Number of names that are copied or read for this schema. */
function namesIn(schema: unknown): number {
  const object = asObject(schema) ?? {};
  const properties = Object.keys(asObject(object['properties']) ?? {});
  return Object.keys(object).length + properties.length + asList(object['required']).length;
}

/** Merges two schemas that both apply: properties and required names are combined, other keywords of the second win. */
function merge(one: JsonObject, other: JsonObject): JsonObject {
  const properties = { ...asObject(one['properties']), ...asObject(other['properties']) };
  const required = [...asList(one['required']), ...asList(other['required'])];
  return {
    ...one,
    ...other,
    ...(Object.keys(properties).length === 0 ? {} : { properties }),
    ...(required.length === 0 ? {} : { required }),
  };
}

function typeOf(schema: JsonObject): string {
  const named = asText(schema['type']) ?? asText(asList(schema['type'])[0]);
  if (named !== null) return named;
  if ('properties' in schema || 'required' in schema) return 'object';
  return 'items' in schema || 'prefixItems' in schema ? 'array' : 'string';
}

const countOf = (value: unknown): number | null =>
  typeof value === 'number' && Number.isInteger(value) && value >= 0 ? value : null;

const numericBound = (value: unknown): number | null => (typeof value === 'number' ? value : null);

function numberFor(schema: JsonObject): number {
  const isWhole = typeOf(schema) === 'integer';
  const step = numericBound(schema['multipleOf']) ?? (isWhole ? 1 : null);
  if (step !== null && (step <= 0 || (isWhole && !Number.isInteger(step)))) {
    throw new UnsupportedSchemaError('multipleOf');
  }
  const above = numericBound(schema['exclusiveMinimum']);
  const least = Math.max(numericBound(schema['minimum']) ?? -Infinity, above ?? -Infinity);
  const below = numericBound(schema['exclusiveMaximum']);
  const most = Math.min(numericBound(schema['maximum']) ?? Infinity, below ?? Infinity);
  const fits = (value: number): boolean =>
    Number.isFinite(value) &&
    (step === null || value % step === 0) &&
    value >= least &&
    value <= most &&
    value !== above &&
    value !== below;
  const further =
    step === null
      ? [least, most, (least + most) * 0.5, least + 1, most - 1]
      : [step, ...multiplesAround(least, step), ...multiplesAround(most, step)];
  const found = [1, 0, ...further].find(fits);
  if (found === undefined) throw new UnsupportedSchemaError('these bounds of a number');
  return found;
}

/** Multiples of the step next to a bound, computed by the remainder. */
function multiplesAround(at: number, step: number): readonly number[] {
  if (!Number.isFinite(at)) return [];
  const below = at - (at % step);
  return [below, below + step, below - step];
}

const formats: Readonly<Record<string, string>> = {
  'date-time': '2026-01-01T00:00:00Z',
  date: '2026-01-01',
  time: '00:00:00Z',
  duration: 'P1D',
  email: 'mock@example.com',
  hostname: 'example.com',
  ipv4: '192.0.2.1',
  ipv6: '2001:db8::1',
  uri: 'https://example.com/',
  uuid: '00000000-0000-4000-8000-000000000000',
};

function textFor(schema: JsonObject): string {
  const format = asText(schema['format']);
  const known = format !== null && Object.hasOwn(formats, format) ? formats[format] : undefined;
  const made = known ?? 'mock';
  const least = countOf(schema['minLength']) ?? 0;
  const most = countOf(schema['maxLength']) ?? Infinity;
  if (least > maxTextLength || least > most) throw new UnsupportedSchemaError('this minLength');
  if (known !== undefined) {
    if (made.length < least || made.length > most)
      throw new UnsupportedSchemaError('a length together with a format');
    return made;
  }
  return made.padEnd(least, ' mock').slice(0, Math.min(most, maxTextLength));
}
