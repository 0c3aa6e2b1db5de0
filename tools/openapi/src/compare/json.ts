/** Reads documents as untyped data. */

export type JsonObject = Readonly<Record<string, unknown>>;

export function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** An object field; empty if it is missing. */
export function objectAt(value: unknown, key: string): JsonObject {
  const found = isObject(value) ? value[key] : undefined;
  return isObject(found) ? found : {};
}

export function listAt(value: unknown, key: string): readonly unknown[] {
  const found = isObject(value) ? value[key] : undefined;
  return Array.isArray(found) ? found : [];
}

export function numberAt(value: JsonObject, key: string): number | undefined {
  const found = value[key];
  return typeof found === 'number' ? found : undefined;
}

export function textAt(value: JsonObject, key: string): string | undefined {
  const found = value[key];
  return typeof found === 'string' ? found : undefined;
}

/** Equal regardless of the order of keys. */
export function same(a: unknown, b: unknown): boolean {
  return a === b || canonical(a) === canonical(b);
}

export function canonical(value: unknown): string {
  return JSON.stringify(value, (_key, item: unknown) =>
    isObject(item) ? Object.fromEntries(Object.entries(item).toSorted(([a], [b]) => (a < b ? -1 : 1))) : item,
  );
}

/** Follows a `$ref` within the document; keywords beside the reference take precedence. */
export function resolve(document: JsonObject, value: unknown): JsonObject {
  let found = isObject(value) ? value : {};
  for (let hops = 0; typeof found['$ref'] === 'string'; hops += 1) {
    if (hops > 32) throw new Error(`The reference ${found['$ref']} points to itself.`);
    const { $ref, ...beside } = found;
    found = { ...pointedAt(document, $ref as string), ...beside };
  }
  return found;
}

function pointedAt(document: JsonObject, reference: string): JsonObject {
  if (!reference.startsWith('#/')) throw new Error(`${reference} is not within the document.`);
  const steps = reference
    .slice(2)
    .split('/')
    .map((step) => step.replaceAll('~1', '/').replaceAll('~0', '~'));
  let found: unknown = document;
  for (const step of steps) found = isObject(found) ? found[step] : undefined;
  if (!isObject(found)) throw new Error(`${reference} has no target.`);
  return found;
}
