/**
 * What a field for a date and time says, as the interface takes it. Fields speak of the reader's own zone and the interface of
 * UTC. Null: nothing was chosen. Undefined: what was chosen is no moment.
 */
export function localToInstant(text: string): string | null | undefined {
  if (text === '') return null;
  const ms = Date.parse(text);
  return Number.isNaN(ms) ? undefined : new Date(ms).toISOString();
}

/** The same the other way round: `2026-08-01T14:30`, in the reader's zone. */
export function instantToLocal(ms: number): string {
  const date = new Date(ms);
  const two = (value: number): string => String(value).padStart(2, '0');
  const day = `${String(date.getFullYear())}-${two(date.getMonth() + 1)}-${two(date.getDate())}`;
  return `${day}T${two(date.getHours())}:${two(date.getMinutes())}`;
}
