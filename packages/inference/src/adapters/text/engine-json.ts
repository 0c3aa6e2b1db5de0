/** Reads engine JSON leniently: a value of the wrong type counts as absent. */

export type JsonObject = Readonly<Record<string, unknown>>;

export function asObject(value: unknown): JsonObject | null {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as JsonObject) : null;
}

const emptyList: readonly unknown[] = [];

export function asList(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? (value as readonly unknown[]) : emptyList;
}

export function asText(value: unknown): string | null {
  return typeof value === 'string' ? value : null;
}

/** No count of one request comes near this value. */
const maxCount = 2 ** 31;

/** A whole number of 0 or more. Implausibly large counts count as absent, so that they are never charged. */
export function asCount(value: unknown): number | null {
  return Number.isSafeInteger(value) && (value as number) >= 0 && (value as number) < maxCount
    ? (value as number)
    : null;
}

/** Null if the text is not JSON. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
