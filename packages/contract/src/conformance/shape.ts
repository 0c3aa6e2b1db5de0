/** The type of one value, parsed from a type phrase of the text. */
export interface Shape {
  readonly kind:
    | 'string'
    | 'number'
    | 'integer'
    | 'boolean'
    | 'enum'
    | 'array'
    | 'object'
    | 'map'
    | 'any'
    | 'null'
    | 'ref'
    | 'oneOf'
    | 'untyped';
  /** For `enum`. */
  readonly values?: readonly string[];
  /** For `ref`: the named record. */
  readonly ref?: string;
  readonly items?: Shape;
  /** For `object`; absent if the keys are free. */
  readonly fields?: readonly Field[];
  /** For `oneOf`: alternatives by discriminator. */
  readonly branches?: ReadonlyMap<string, Shape>;
  readonly nullable?: boolean;
  readonly min?: number;
  readonly max?: number;
  readonly above?: number;
  readonly multipleOf?: number;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly minItems?: number;
  readonly maxItems?: number;
  readonly pattern?: 'label';
  readonly default?: unknown;
}

export interface Field {
  readonly name: string;
  readonly shape: Shape;
  /** Undefined if the text does not say. */
  readonly required: boolean | undefined;
}

export const labelPattern = '^[A-Za-z0-9_-]+$';

const limitKeys = [
  'min',
  'max',
  'above',
  'multipleOf',
  'minLength',
  'maxLength',
  'minItems',
  'maxItems',
  'pattern',
] as const;

/** A shape as flat facts by path, so that two descriptions can be compared and a difference names its path. */
export type Facts = Map<string, string>;

export function factsOfFields(fields: readonly Field[], path = ''): Facts {
  const facts: Facts = new Map();
  for (const field of fields) {
    const at = path === '' ? field.name : `${path}.${field.name}`;
    if (field.required !== undefined) facts.set(`${at} required`, String(field.required));
    for (const [key, value] of factsOfShape(field.shape, at)) facts.set(key, value);
  }
  return facts;
}

export function factsOfShape(shape: Shape, path: string): Facts {
  const facts: Facts = new Map();
  const type = shape.kind === 'ref' ? `ref ${shape.ref}` : shape.kind;
  facts.set(`${path} type`, type);
  if (shape.kind === 'enum') facts.set(`${path} enum`, [...(shape.values ?? [])].toSorted().join(' '));
  if (shape.nullable === true) facts.set(`${path} nullable`, 'true');
  if (shape.default !== undefined) facts.set(`${path} default`, JSON.stringify(shape.default));
  for (const key of limitKeys) {
    const limit = shape[key];
    if (limit !== undefined) facts.set(`${path} ${key}`, String(limit));
  }
  const inner: [string, Facts][] = [];
  if (shape.items !== undefined) inner.push(['items', factsOfShape(shape.items, `${path}[]`)]);
  if (shape.fields !== undefined) inner.push(['fields', factsOfFields(shape.fields, path)]);
  for (const [name, branch] of shape.branches ?? [])
    inner.push([name, factsOfShape(branch, `${path}<${name}>`)]);
  for (const [, more] of inner) for (const [key, value] of more) facts.set(key, value);
  return facts;
}

export function differences(text: Facts, contract: Facts): string[] {
  const problems: string[] = [];
  for (const [key, value] of text) {
    const other = contract.get(key);
    if (other !== value) problems.push(`${key}: text ${value}, contract ${other ?? 'nothing'}`);
  }
  for (const [key, value] of contract) {
    if (!text.has(key)) problems.push(`${key}: text nothing, contract ${value}`);
  }
  return problems;
}
