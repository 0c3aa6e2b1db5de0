import { isObject, listAt, objectAt, resolve, textAt, type JsonObject } from './json.ts';
import type { BreakingChange, Rule } from './rules.ts';
import { compareSchemas, type SchemaOptions, type ComparedSchemas } from './schema.ts';

export interface Pair {
  /** For example `POST /v2/api-keys`. */
  readonly at: string;
  readonly documents: { readonly before: JsonObject; readonly after: JsonObject };
  readonly before: JsonObject;
  readonly after: JsonObject;
  readonly settled: ComparedSchemas;
}

export function compareOperations(pair: Pair): readonly BreakingChange[] {
  return [
    ...compareIdentity(pair),
    ...compareParameters(pair),
    ...compareRequestBody(pair),
    ...compareResponses(pair),
  ];
}

function breakingChange(rule: Rule, at: string, what: string): BreakingChange {
  return { rule, at, what };
}

function compareIdentity({ at, before, after }: Pair): readonly BreakingChange[] {
  const found: BreakingChange[] = [];
  const [oldId, newId] = [textAt(before, 'operationId'), textAt(after, 'operationId')];
  if (oldId !== newId) {
    found.push(breakingChange('operation-id-changed', at, `${oldId ?? 'none'} became ${newId ?? 'none'}`));
  }
  if (listAt(before, 'security').length === 0 && listAt(after, 'security').length > 0) {
    found.push(breakingChange('security-added', at, 'a key is needed now'));
  }
  const [oldScope, newScope] = [textAt(before, 'x-scope'), textAt(after, 'x-scope')];
  if (newScope !== undefined && newScope !== oldScope) {
    found.push(breakingChange('scope-changed', at, `${oldScope ?? 'any key'} became ${newScope}`));
  }
  return found;
}

/** By location and name; path parameters by order, because their names are never sent. */
function parametersOf(document: JsonObject, operation: JsonObject): ReadonlyMap<string, JsonObject> {
  let inPath = 0;
  const named = listAt(operation, 'parameters').map((raw) => {
    const parameter = resolve(document, raw);
    const { in: place, name } = parameter;
    const key = place === 'path' ? `path ${(inPath += 1)}` : `${String(place)} ${String(name)}`;
    return [key, parameter] as const;
  });
  return new Map(named);
}

function compareParameters({ at, documents, before, after, settled }: Pair): readonly BreakingChange[] {
  const old = parametersOf(documents.before, before);
  const now = parametersOf(documents.after, after);
  const found: BreakingChange[] = [];
  for (const [key, parameter] of old) {
    const where = `${at} ${key}`;
    const match = now.get(key);
    if (match === undefined) {
      found.push(breakingChange('parameter-removed', where, 'it was removed'));
      continue;
    }
    const options = { documents, direction: 'request', at: where, settled } as const;
    found.push(...compareSchemas(parameter['schema'], match['schema'], options));
  }
  for (const [key, parameter] of now) {
    if (parameter['required'] === true && old.get(key)?.['required'] !== true) {
      found.push(breakingChange('parameter-required', `${at} ${key}`, 'it is required now'));
    }
  }
  return found;
}

function compareRequestBody({ at, documents, before, after, settled }: Pair): readonly BreakingChange[] {
  const [old, now] = [before['requestBody'], after['requestBody']];
  const where = `${at} request body`;
  const required = (body: unknown) => isObject(body) && body['required'] === true;
  const found: BreakingChange[] = [];
  if (required(now) && !required(old))
    found.push(breakingChange('body-required', where, 'it is required now'));
  if (old === undefined) return found;
  if (now === undefined) return [...found, breakingChange('body-removed', where, 'it was removed')];
  const [oldContent, newContent] = [objectAt(old, 'content'), objectAt(now, 'content')];
  return [
    ...found,
    ...compareContent(oldContent, newContent, { documents, direction: 'request', at: where, settled }),
  ];
}

function compareContent(old: JsonObject, now: JsonObject, options: SchemaOptions): readonly BreakingChange[] {
  return Object.keys(old).flatMap((type) => {
    if (!(type in now)) return [breakingChange('media-type-removed', options.at, `${type} was removed`)];
    return compareSchemas(objectAt(old, type)['schema'], objectAt(now, type)['schema'], options);
  });
}

function compareResponses({ at, documents, before, after, settled }: Pair): readonly BreakingChange[] {
  const [old, now] = [objectAt(before, 'responses'), objectAt(after, 'responses')];
  const found: BreakingChange[] = [];
  for (const [status, raw] of Object.entries(old)) {
    if (!(status in now)) {
      found.push(breakingChange('status-removed', at, `${status} was removed`));
      continue;
    }
    const where = `${at} ${status}`;
    const [was, is] = [resolve(documents.before, raw), resolve(documents.after, now[status])];
    const options = { documents, direction: 'response', at: where, settled } as const;
    found.push(...compareContent(objectAt(was, 'content'), objectAt(is, 'content'), options));
    const headers = objectAt(is, 'headers');
    for (const name of Object.keys(objectAt(was, 'headers'))) {
      if (!(name in headers)) found.push(breakingChange('header-removed', where, `${name} was removed`));
    }
  }
  for (const status of Object.keys(now)) {
    if (status.startsWith('2') && !(status in old)) {
      found.push(breakingChange('success-status-added', at, `${status} is new`));
    }
  }
  return found;
}
