import { canonical, isObject, listAt, numberAt, same, type JsonObject } from './json.ts';

/** Change of one keyword: whether the schema now admits fewer values, more values, or both. */
export interface KeywordChange {
  readonly less: boolean;
  readonly more: boolean;
  readonly what: string;
}

const lowerBounds = ['minimum', 'exclusiveMinimum', 'minLength', 'minItems', 'minProperties', 'minContains'];
const upperBounds = ['maximum', 'exclusiveMaximum', 'maxLength', 'maxItems', 'maxProperties', 'maxContains'];
/** A first size limit is not a narrowing: clients could never send an unlimited amount. */
const sizes = ['maxLength', 'maxItems', 'maxProperties'];
/** Keywords whose values cannot be ordered; only equality is checked. */
const opaque = [
  'pattern',
  'format',
  'contentMediaType',
  'contentEncoding',
  'uniqueItems',
  'not',
  'patternProperties',
  'dependentRequired',
  'contains',
  'if',
  'then',
  'else',
];

export function keywordChanges(before: JsonObject, after: JsonObject): readonly KeywordChange[] {
  const found = [
    typeChange(before, after),
    valueChange(before, after),
    multipleChange(before, after),
    ...lowerBounds.map((keyword) => boundChange(keyword, before, after, (a, b) => a > b)),
    ...upperBounds.map((keyword) => boundChange(keyword, before, after, (a, b) => a < b)),
    ...opaque.map((keyword) => opaqueChange(keyword, before, after)),
    ...nameChanges(before, after),
  ];
  return found.filter((shift) => shift !== null);
}

const everyType = ['string', 'number', 'boolean', 'object', 'array', 'null'];

function typesOf(schema: JsonObject): readonly string[] {
  const { type } = schema;
  if (typeof type === 'string') return [type];
  return Array.isArray(type) ? (type as string[]) : everyType;
}

/** Every integer is a number, so a change between the two only removes or only adds values. */
function covers(types: readonly string[], type: string): boolean {
  return types.includes(type) || (type === 'integer' && types.includes('number'));
}

function typeChange(before: JsonObject, after: JsonObject): KeywordChange | null {
  // The values of an enumeration determine its types.
  if (valuesOf(before) !== null && valuesOf(after) !== null) return null;
  const [old, now] = [typesOf(before), typesOf(after)];
  const less = old.some((type) => !covers(now, type));
  const more = now.some((type) => !covers(old, type));
  return less || more ? { less, more, what: `type ${old.join('|')} became ${now.join('|')}` } : null;
}

export function valuesOf(schema: JsonObject): readonly string[] | null {
  if ('const' in schema) return [canonical(schema['const'])];
  return Array.isArray(schema['enum']) ? listAt(schema, 'enum').map(canonical) : null;
}

function valueChange(before: JsonObject, after: JsonObject): KeywordChange | null {
  const [old, now] = [valuesOf(before), valuesOf(after)];
  if (old === null && now === null) return null;
  if (old === null) return { less: true, more: false, what: `only ${now?.join(', ')} are admitted now` };
  if (now === null) return { less: false, more: true, what: `no longer only ${old.join(', ')}` };
  const removed = old.filter((value) => !now.includes(value));
  const come = now.filter((value) => !old.includes(value));
  if (removed.length === 0 && come.length === 0) return null;
  const what = [
    ...(removed.length === 0 ? [] : [`without ${removed.join(', ')}`]),
    ...(come.length === 0 ? [] : [`with ${come.join(', ')}`]),
  ].join(' and ');
  // Clients of an extensible set must expect further values.
  return { less: removed.length > 0, more: come.length > 0 && before['x-extensible'] !== true, what };
}

function multipleChange(before: JsonObject, after: JsonObject): KeywordChange | null {
  const [old, now] = [numberAt(before, 'multipleOf'), numberAt(after, 'multipleOf')];
  if (old === now) return null;
  const less = now !== undefined && (old === undefined || old % now !== 0);
  const more = old !== undefined && (now === undefined || now % old !== 0);
  return { less, more, what: `multipleOf ${old ?? 'anything'} became ${now ?? 'anything'}` };
}

function boundChange(
  keyword: string,
  before: JsonObject,
  after: JsonObject,
  tighter: (a: number, b: number) => boolean,
): KeywordChange | null {
  const [old, now] = [numberAt(before, keyword), numberAt(after, keyword)];
  if (old === now) return null;
  const isFirst = old === undefined && sizes.includes(keyword);
  const less = now !== undefined && !isFirst && (old === undefined || tighter(now, old));
  return { less, more: !less && !isFirst, what: `${keyword} ${old ?? 'none'} became ${now ?? 'none'}` };
}

/** Property names are strings, whether or not the schema declares it. */
function nameChanges(before: JsonObject, after: JsonObject): readonly KeywordChange[] {
  const [old, now] = [before, after].map(({ propertyNames }) => ({
    ...(isObject(propertyNames) ? propertyNames : {}),
    type: 'string',
  }));
  if (old === undefined || now === undefined || same(old, now)) return [];
  return keywordChanges(old, now).map((shift) => ({ ...shift, what: `propertyNames: ${shift.what}` }));
}

function opaqueChange(keyword: string, before: JsonObject, after: JsonObject): KeywordChange | null {
  const [old, now] = [before[keyword], after[keyword]];
  if (same(old, now)) return null;
  const show = (value: unknown) => (isObject(value) ? 'another' : (canonical(value) ?? 'none'));
  return {
    less: now !== undefined,
    more: old !== undefined,
    what: `${keyword} ${show(old)} became ${show(now)}`,
  };
}
