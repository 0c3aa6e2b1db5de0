import { canonical, isObject, listAt, objectAt, resolve, same, textAt, type JsonObject } from './json.ts';
import { keywordChanges, valuesOf } from './keywords.ts';
import type { BreakingChange, Direction } from './rules.ts';

interface Walk {
  readonly documents: { readonly before: JsonObject; readonly after: JsonObject };
  readonly direction: Direction;
  readonly found: BreakingChange[];
  /** Pairs of components that are equal or being compared, because a schema may contain itself. */
  readonly settled: Set<string>;
}

/** Pairs that were compared in this pair of documents, so that a shared component is compared once. */
export type ComparedSchemas = Readonly<Record<Direction, Set<string>>>;

export interface SchemaOptions {
  readonly documents: Walk['documents'];
  readonly direction: Direction;
  readonly at: string;
  readonly settled: ComparedSchemas;
}

export function compareSchemas(
  before: unknown,
  after: unknown,
  options: SchemaOptions,
): readonly BreakingChange[] {
  const { documents, direction, settled } = options;
  const walk: Walk = { documents, direction, found: [], settled: settled[direction] };
  compare(walk, before, after, options.at);
  return walk.found;
}

function admitsLess(walk: Walk, at: string, what: string): void {
  if (walk.direction === 'request') walk.found.push({ rule: 'request-narrowed', at, what });
}

function admitsMore(walk: Walk, at: string, what: string): void {
  if (walk.direction === 'response') walk.found.push({ rule: 'response-widened', at, what });
}

function compare(walk: Walk, before: unknown, after: unknown, at: string): void {
  const [old, now] = [referenceOf(before), referenceOf(after)];
  if (old === null || now === null) {
    compareResolved(walk, before, after, at);
    return;
  }
  const pair = `${old} ${now}`;
  if (walk.settled.has(pair)) return;
  const known = walk.found.length;
  walk.settled.add(pair);
  compareResolved(walk, before, after, at);
  // A pair with changes is reported wherever it is used.
  if (walk.found.length > known) walk.settled.delete(pair);
}

/** The referenced component of a schema without further keywords. */
function referenceOf(schema: unknown): string | null {
  const reference = isObject(schema) && Object.keys(schema).length === 1 ? schema['$ref'] : null;
  return typeof reference === 'string' ? reference : null;
}

function compareResolved(walk: Walk, rawBefore: unknown, rawAfter: unknown, at: string): void {
  const before = normalise(walk.documents.before, rawBefore);
  const after = normalise(walk.documents.after, rawAfter);
  if (before.nullable && !after.nullable) admitsLess(walk, at, 'null is no longer admitted');
  if (!before.nullable && after.nullable) admitsMore(walk, at, 'it may be null');
  for (const { less, more, what } of keywordChanges(before.schema, after.schema)) {
    if (less) admitsLess(walk, at, what);
    if (more) admitsMore(walk, at, what);
  }
  compareDefault(walk, before.schema, after.schema, at);
  compareProperties(walk, before.schema, after.schema, at);
  compareItems(walk, before.schema, after.schema, at);
  compareBranches(walk, before.schema, after.schema, at);
}

interface Normal {
  readonly nullable: boolean;
  readonly schema: JsonObject;
}

/** A type list or a separate branch can admit `null`; both become `nullable`. */
function normalise(document: JsonObject, raw: unknown): Normal {
  if (raw === false) return { nullable: false, schema: { not: {} } };
  const schema = resolve(document, raw);
  const { type } = schema;
  if (Array.isArray(type) && type.includes('null') && type.length > 1) {
    const others = (type as string[]).filter((each) => each !== 'null');
    return { nullable: true, schema: { ...schema, type: others.length === 1 ? others[0] : others } };
  }
  for (const keyword of ['anyOf', 'oneOf']) {
    const branches = listAt(schema, keyword);
    const others = branches.filter((branch) => !same(branch, { type: 'null' }));
    if (others.length === branches.length || others.length === 0) continue;
    const { [keyword]: _, ...beside } = schema;
    const [only] = others;
    if (others.length > 1) return { nullable: true, schema: { ...beside, [keyword]: others } };
    return { nullable: true, schema: { ...normalise(document, only).schema, ...beside } };
  }
  return { nullable: false, schema };
}

function compareDefault(walk: Walk, before: JsonObject, after: JsonObject, at: string): void {
  if (walk.direction !== 'request' || !('default' in before)) return;
  if (same(before['default'], after['default'])) return;
  const what = `${canonical(before['default'])} became ${canonical(after['default']) ?? 'none'}`;
  walk.found.push({ rule: 'default-changed', at, what });
}

function compareProperties(walk: Walk, before: JsonObject, after: JsonObject, at: string): void {
  const [old, now] = [objectAt(before, 'properties'), objectAt(after, 'properties')];
  for (const [name, schema] of Object.entries(old)) {
    if (name in now) compare(walk, schema, now[name], `${at}.${name}`);
    else walk.found.push({ rule: 'property-removed', at: `${at}.${name}`, what: `${name} was removed` });
  }
  const wasRequired = listAt(before, 'required');
  const isRequired = listAt(after, 'required');
  for (const name of isRequired.filter((each) => !wasRequired.includes(each))) {
    admitsLess(walk, `${at}.${String(name)}`, 'it is required now');
  }
  for (const name of wasRequired.filter((each) => !isRequired.includes(each) && String(each) in now)) {
    admitsMore(walk, `${at}.${String(name)}`, 'it may be left out');
  }
  compareAdditionalProperties(walk, before, after, at);
}

/** A closed object promises that it has no further fields. */
function compareAdditionalProperties(walk: Walk, before: JsonObject, after: JsonObject, at: string): void {
  const [old, now] = [before['additionalProperties'] ?? true, after['additionalProperties'] ?? true];
  if (old === false) {
    const come = Object.keys(objectAt(after, 'properties')).filter(
      (name) => !(name in objectAt(before, 'properties')),
    );
    for (const name of come) admitsMore(walk, `${at}.${name}`, 'a closed object has a new field');
  }
  if (isObject(old) && isObject(now)) compare(walk, old, now, `${at}.*`);
  else if (admission(old) > admission(now)) admitsLess(walk, at, 'further fields are no longer admitted');
  else if (admission(old) < admission(now)) admitsMore(walk, at, 'further fields may appear');
}

function admission(additional: unknown): number {
  if (additional === false) return 0;
  return isObject(additional) && Object.keys(additional).length > 0 ? 1 : 2;
}

function compareItems(walk: Walk, before: JsonObject, after: JsonObject, at: string): void {
  if ('items' in before || 'items' in after)
    compare(walk, before['items'] ?? {}, after['items'] ?? {}, `${at}[]`);
  if ('contentSchema' in before)
    compare(walk, before['contentSchema'], after['contentSchema'] ?? {}, `${at} data`);
  const [old, now] = [listAt(before, 'prefixItems'), listAt(after, 'prefixItems')];
  for (const [index, item] of old.entries()) compare(walk, item, now[index] ?? {}, `${at}[${index}]`);
}

/** Alternatives are matched by their discriminating values, or by their type. */
function compareBranches(walk: Walk, before: JsonObject, after: JsonObject, at: string): void {
  for (const keyword of ['oneOf', 'anyOf', 'allOf']) {
    const old = branchesOf(walk.documents.before, before, keyword);
    const now = branchesOf(walk.documents.after, after, keyword);
    if (old.size === 0 && now.size === 0) continue;
    // More alternatives admit more values; more conditions of allOf admit fewer.
    const [onRemoved, onCome] = keyword === 'allOf' ? [admitsMore, admitsLess] : [admitsLess, admitsMore];
    const extensible = before['x-extensible'] === true;
    for (const [name, branch] of old) {
      if (now.has(name)) compare(walk, branch, now.get(name), `${at}<${name}>`);
      else onRemoved(walk, at, `${keyword} without ${name}`);
    }
    for (const name of now.keys()) {
      if (!old.has(name) && !extensible) onCome(walk, at, `${keyword} with ${name}`);
    }
  }
}

function branchesOf(document: JsonObject, schema: JsonObject, keyword: string): ReadonlyMap<string, unknown> {
  const discriminator = textAt(objectAt(schema, 'discriminator'), 'propertyName');
  const named = new Map<string, unknown>();
  for (const branch of listAt(schema, keyword)) {
    const base = branchName(document, branch, discriminator);
    let name = base;
    for (let count = 2; named.has(name); count += 1) name = `${base} ${count}`;
    named.set(name, branch);
  }
  return named;
}

function branchName(document: JsonObject, branch: unknown, discriminator: string | undefined): string {
  const schema = resolve(document, branch);
  const identifying = discriminator === undefined ? listAt(schema, 'required') : [discriminator];
  const constants = Object.entries(objectAt(schema, 'properties')).flatMap(([name, property]) => {
    const values = identifying.includes(name) ? valuesOf(resolve(document, property)) : null;
    return values?.length === 1 ? [`${name}=${values[0]}`] : [];
  });
  if (constants.length > 0) return constants.join(',');
  if (isObject(branch) && typeof branch['$ref'] === 'string') return branch['$ref'];
  const words = [textAt(schema, 'type'), textAt(schema, 'format')].filter((part) => part !== undefined);
  return words.length === 0 ? 'schema' : words.join(' ');
}
