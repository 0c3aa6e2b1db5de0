import type { EventId, OrgId } from '@millrace/platform/ids';
import type { WrittenEvents } from './writers.ts';

/** One event as a reader saw it. */
export interface ReadEvent {
  readonly id: EventId;
  readonly seq: number;
}

/**
 * What is wrong with what one reader saw of one organisation, in words; empty when nothing is. It must have seen every
 * committed event, each once, under the numbers 1, 2, 3, …, in that order, each writer's own in the order written.
 */
export function feedReaderProblems(
  reader: string,
  orgId: OrgId,
  seen: readonly ReadEvent[],
  written: WrittenEvents,
): string[] {
  const problems: string[] = [];
  seen.forEach((event, index) => {
    if (event.seq !== index + 1)
      problems.push(`${reader}: place ${index + 1} of ${orgId} has seq ${event.seq}`);
  });
  const committed = written.byOrg.get(orgId) ?? new Set<EventId>();
  const place = new Map(seen.map((event, index) => [event.id, index]));
  if (place.size !== seen.length) problems.push(`${reader}: ${seen.length - place.size} repeats in ${orgId}`);
  const missing = [...committed].filter((id) => !place.has(id));
  if (missing.length > 0) problems.push(`${reader}: ${missing.length} events of ${orgId} never came`);
  const uninvited = seen.filter((event) => !committed.has(event.id));
  if (uninvited.length > 0)
    problems.push(`${reader}: ${uninvited.length} events of ${orgId} never committed`);
  for (const line of written.sequences) {
    if (line.orgId !== orgId) continue;
    const places = line.ids.map((id) => place.get(id) ?? -1);
    if (places.some((at, index) => index > 0 && at < (places[index - 1] ?? -1))) {
      problems.push(`${reader}: a writer's own order was not kept in ${orgId}`);
    }
  }
  return problems.slice(0, 10);
}
