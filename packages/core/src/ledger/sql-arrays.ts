/**
 * Array parameters as PostgreSQL reads them. The driver quotes and escapes every element, which for a batch of
 * hundreds costs more than the batch; ids and numbers need neither.
 */

export function uuids(values: readonly (string | null)[]): string {
  return `{${values.map((value) => value ?? 'NULL').join(',')}}`;
}

export function bigints(values: readonly (bigint | null)[]): string {
  return `{${values.map((value) => value ?? 'NULL').join(',')}}`;
}

export function int8s(values: readonly number[]): string {
  return `{${values.join(',')}}`;
}

/** Text of any kind goes through the driver's own quoting. */
export function texts(values: readonly string[]): readonly string[] {
  return values;
}
