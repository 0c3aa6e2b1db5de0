/**
 * Formats array parameters for PostgreSQL, because the driver's escaping of every element is slow for large batches.
 */

/** For ids, numbers and constants such as kinds and modes, which need no quotes. */
export function plainArray(values: readonly (string | bigint | number | boolean | null)[]): string {
  return `{${values.map((value) => value ?? 'NULL').join(',')}}`;
}

const special = /["\\]/;

export function texts(values: readonly (string | null)[]): string {
  const quoted = values.map((value) => {
    if (value === null) return 'NULL';
    return `"${special.test(value) ? value.replaceAll(/["\\]/g, '\\$&') : value}"`;
  });
  return `{${quoted.join(',')}}`;
}

/** Formats instants in milliseconds. Most instants of a batch are equal, so each is formatted once. */
export function instants(values: readonly number[]): string {
  const spelled = new Map<number, string>();
  const texts = values.map((ms) => {
    const text = spelled.get(ms) ?? new Date(ms).toISOString();
    spelled.set(ms, text);
    return text;
  });
  return `{${texts.join(',')}}`;
}
