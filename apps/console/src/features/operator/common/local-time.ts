/** Converts a local date-time field to UTC. Null if empty, undefined if invalid. */
export function localToInstant(text: string): string | null | undefined {
  if (text === '') return null;
  const ms = Date.parse(text);
  return Number.isNaN(ms) ? undefined : new Date(ms).toISOString();
}

/** Converts to a local date-time field: `2026-08-01T14:30`. */
export function instantToLocal(ms: number): string {
  const date = new Date(ms);
  const two = (value: number): string => String(value).padStart(2, '0');
  const day = `${String(date.getFullYear())}-${two(date.getMonth() + 1)}-${two(date.getDate())}`;
  return `${day}T${two(date.getHours())}:${two(date.getMinutes())}`;
}
