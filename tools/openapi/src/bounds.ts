import { isObject, listAt, objectAt, resolve, textAt, type JsonObject } from './compare/json.ts';

/** A string, list or map of a request whose size only the body limit bounds. */
export interface Unbounded {
  /** For example `POST /v2/things request body.name`. */
  readonly at: string;
  readonly what: string;
}

interface Walk {
  readonly document: JsonObject;
  readonly found: Unbounded[];
  /** References on the path from the root, because a schema may contain itself. */
  readonly inside: ReadonlySet<string>;
}

const methods = ['get', 'put', 'post', 'patch', 'delete'];

export function unboundedIn(document: JsonObject): readonly Unbounded[] {
  const found: Unbounded[] = [];
  for (const [path, item] of Object.entries(objectAt(document, 'paths'))) {
    for (const method of methods) {
      const operation = isObject(item) ? objectAt(item, method) : {};
      const where = `${method.toUpperCase()} ${path}`;
      const walk = { document, found, inside: new Set<string>() };
      for (const raw of listAt(operation, 'parameters')) {
        const parameter = resolve(document, raw);
        const name = `${textAt(parameter, 'in') ?? ''} ${textAt(parameter, 'name') ?? ''}`;
        checkSchema(walk, parameter['schema'], `${where} ${name}`);
      }
      const body = resolve(document, operation['requestBody'] ?? {});
      for (const content of Object.values(objectAt(body, 'content'))) {
        if (isObject(content)) checkSchema(walk, content['schema'], `${where} request body`);
      }
    }
  }
  return found;
}

function checkSchema(walk: Walk, raw: unknown, at: string): void {
  const reference = isObject(raw) ? textAt(raw, '$ref') : undefined;
  if (reference !== undefined && walk.inside.has(reference)) return;
  const inner = reference === undefined ? walk : { ...walk, inside: new Set([...walk.inside, reference]) };
  const schema = resolve(walk.document, raw);
  const fault = boundProblem(schema);
  if (fault !== null) walk.found.push({ at, what: fault });
  for (const [name, property] of Object.entries(objectAt(schema, 'properties')))
    checkSchema(inner, property, `${at}.${name}`);
  if (isObject(schema['additionalProperties'])) checkSchema(inner, schema['additionalProperties'], `${at}.*`);
  if ('propertyNames' in schema) checkSchema(inner, schema['propertyNames'], `${at} names`);
  if ('items' in schema) checkSchema(inner, schema['items'], `${at}[]`);
  for (const keyword of ['oneOf', 'anyOf', 'allOf', 'prefixItems'])
    for (const branch of listAt(schema, keyword)) checkSchema(inner, branch, at);
}

function boundProblem(schema: JsonObject): string | null {
  const types = typeof schema['type'] === 'string' ? [schema['type']] : listAt(schema, 'type');
  if ('const' in schema || 'enum' in schema) return null;
  if (types.includes('string') && !('maxLength' in schema) && !isShort(textAt(schema, 'pattern')))
    return 'a text without maxLength';
  if (types.includes('array') && !('maxItems' in schema) && !('prefixItems' in schema))
    return 'a list without maxItems';
  const further = schema['additionalProperties'];
  // An object whose further fields are ignored is not a map.
  const isMap = isObject(further) && (Object.keys(further).length > 0 || 'propertyNames' in schema);
  if (isMap && !('maxProperties' in schema)) return 'a map without maxProperties';
  if (isMap && !isObject(schema['propertyNames'])) return 'a map whose names have no maxLength';
  return null;
}

/** A pattern of the whole text without an endless repetition limits the length. */
function isShort(pattern: string | undefined): boolean {
  if (pattern === undefined || !pattern.startsWith('^') || !pattern.endsWith('$')) return false;
  let bare = pattern.replaceAll(/\\./g, 'x').replaceAll(/\[[^\]]*\]/g, 'x');
  if (/[*+]|\{\d+,\}/.test(bare)) return false;
  // Alternatives within a group are between the anchors; others might not be.
  for (let before = ''; before !== bare;) {
    before = bare;
    bare = bare.replaceAll(/\([^()]*\)/g, 'x');
  }
  return !bare.includes('|');
}
