import { isObject, listAt, objectAt, type JsonObject } from './json.ts';
import { compareOperations } from './operation.ts';
import type { BreakingChange } from './rules.ts';

/** All changes between two documents that break clients. A new major version may break, so it is not compared. */
export function findBreakingChanges(before: unknown, after: unknown): readonly BreakingChange[] {
  if (!isObject(before) || !isObject(after)) throw new Error('A document is a JSON object.');
  if (majorOf(after) > majorOf(before)) return [];
  const documents = { before, after };
  const settled = { request: new Set<string>(), response: new Set<string>() };
  const found: BreakingChange[] = [];
  const now = operationsOf(after);
  for (const [at, operation] of operationsOf(before)) {
    const match = now.get(at);
    if (match === undefined) found.push({ rule: 'operation-removed', at, what: 'it was removed' });
    else if (operation.primary) {
      found.push(
        ...compareOperations({ at, documents, before: operation.object, after: match.object, settled }),
      );
    }
  }
  const schemes = objectAt(after['components'], 'securitySchemes');
  for (const name of Object.keys(objectAt(before['components'], 'securitySchemes'))) {
    if (!(name in schemes)) found.push({ rule: 'security-scheme-removed', at: name, what: 'it was removed' });
  }
  return found;
}

function majorOf(document: JsonObject): number {
  const { version } = objectAt(document, 'info');
  return Number.parseInt(String(version), 10);
}

interface Reachable {
  readonly object: JsonObject;
  /** False for an alias, which is compared with its operation. */
  readonly primary: boolean;
}

const methods = ['get', 'post', 'put', 'patch', 'delete'];

/** Every method and path, including aliases. Names of path parameters are ignored. */
function operationsOf(document: JsonObject): ReadonlyMap<string, Reachable> {
  const found = new Map<string, Reachable>();
  for (const [path, item] of Object.entries(objectAt(document, 'paths'))) {
    for (const method of methods) {
      const object = isObject(item) ? item[method] : undefined;
      if (!isObject(object)) continue;
      const key = (each: string) => `${method.toUpperCase()} ${each.replaceAll(/\{[^}]*\}/g, '{}')}`;
      for (const alias of listAt(object, 'x-aliases'))
        found.set(key(String(alias)), { object, primary: false });
      found.set(key(path), { object, primary: true });
    }
  }
  return found;
}
