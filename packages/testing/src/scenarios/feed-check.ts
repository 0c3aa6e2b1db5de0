import type { EventId, OrgId } from '@millrace/platform/ids';
import type { WrittenEvents } from './writers.ts';

export interface ReadEvent {
  readonly id: EventId;
  readonly seq: number;
}

/**
 * The problems of the events that one reader received of one organisation; empty if there are none. The reader must
 * receive every committed event once, numbered 1, 2, 3, … in order, and each writer's events in the order of writing.
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
      problems.push(`${reader}: position ${index + 1} of ${orgId} has seq ${event.seq}`);
  });
  const committed = written.byOrg.get(orgId) ?? new Set<EventId>();
  const place = new Map(seen.map((event, index) => [event.id, index]));
  if (place.size !== seen.length) problems.push(`${reader}: ${seen.length - place.size} repeats in ${orgId}`);
  const missing = [...committed].filter((id) => !place.has(id));
  if (missing.length > 0) problems.push(`${reader}: ${missing.length} events of ${orgId} are missing`);
  const uninvited = seen.filter((event) => !committed.has(event.id));
  if (uninvited.length > 0)
    problems.push(`${reader}: ${uninvited.length} events of ${orgId} were not committed`);
  for (const line of written.sequences) {
    if (line.orgId !== orgId) continue;
    const places = line.ids.map((id) => place.get(id) ?? -1);
    if (places.some((at, index) => index > 0 && at < (places[index - 1] ?? -1))) {
      problems.push(`${reader}: the order of a writer was not kept in ${orgId}`);
    }
  }
  return problems.slice(0, 10);
}
