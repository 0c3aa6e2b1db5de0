/** Reads what engines send. They are trusted to mean well and not to be right: whatever has another shape counts as absent. */

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

/** Nothing that an engine counts for one request comes near it. */
const maxCount = 2 ** 31;

/** A whole number of 0 or more. What is beyond all measure counts as absent: nobody is charged by it. */
export function asCount(value: unknown): number | null {
  return Number.isSafeInteger(value) && (value as number) >= 0 && (value as number) < maxCount
    ? (value as number)
    : null;
}

/** Null when it is no JSON. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
