/**
 * Array parameters as PostgreSQL reads them. The driver quotes and escapes every element, which for a batch of
 * hundreds costs more than the batch; ids and numbers need neither. Text of any kind must go through the driver.
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

export function booleans(values: readonly boolean[]): string {
  return `{${values.join(',')}}`;
}
