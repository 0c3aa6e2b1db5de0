/**
 * Array parameters as PostgreSQL reads them. The driver quotes and escapes every element, which for a batch of
 * hundreds costs more than the batch; ids and numbers need neither, and of texts few have anything to escape.
 */

/** Ids, numbers, and words of ours such as kinds and modes, which need no quotes. */
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

/** Instants in milliseconds. Those of a batch are mostly one and the same, so it is spelled once. */
export function instants(values: readonly number[]): string {
  const spelled = new Map<number, string>();
  const texts = values.map((ms) => {
    const text = spelled.get(ms) ?? new Date(ms).toISOString();
    spelled.set(ms, text);
    return text;
  });
  return `{${texts.join(',')}}`;
}
