/**
 * The fields that a schema dropped: input fields that are missing in the parsed output, as dotted paths. Compares only
 * values that are still objects after parsing, so that a field which a schema transforms does not count as dropped.
 */
export function droppedFields(input: unknown, output: unknown): readonly string[] {
  const dropped: string[] = [];
  collect(input, output, '', dropped, 0);
  return dropped;
}

const maxFields = 20;
const maxDepth = 16;

function collect(input: unknown, output: unknown, path: string, dropped: string[], depth: number): void {
  if (dropped.length >= maxFields || depth > maxDepth) return;
  if (Array.isArray(input) && Array.isArray(output)) {
    for (const [index, item] of input.entries()) {
      if (typeof item === 'object') collect(item, output[index], `${path}${index}.`, dropped, depth + 1);
    }
    return;
  }
  if (!isPlainObject(input) || !isPlainObject(output)) return;
  for (const name in input) {
    const value = input[name];
    if (!Object.hasOwn(output, name)) {
      if (value !== undefined && dropped.length < maxFields) dropped.push(`${path}${name}`);
    } else if (typeof value === 'object') {
      collect(value, output[name], `${path}${name}.`, dropped, depth + 1);
    }
  }
}

function isPlainObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && !(value instanceof Date);
}

const maxHeaderLength = 1_024;

/** Encodes the names as a header value. They come from the caller, so special characters are percent-encoded. */
export function ignoredFieldsHeader(fields: readonly string[]): string {
  const encoded = fields.map((field) => encodeURIComponent(field.toWellFormed()));
  let header = '';
  for (const field of encoded) {
    const longer = header === '' ? field : `${header}, ${field}`;
    if (longer.length > maxHeaderLength) break;
    header = longer;
  }
  return header;
}
