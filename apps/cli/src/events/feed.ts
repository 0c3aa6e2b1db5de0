import type { Millrace, MillraceEvent } from '../sdk.ts';
import type { Context } from '../framework/context.ts';
import { padTo, safeText, widthOf } from '../framework/text.ts';
import { timestampText } from '../text/timestamps.ts';

/** Reads the event feed: its position, its newest events, and future ones. */

export const typeFlag = {
  type: 'list',
  value: 'TYPES',
  describe: 'only these types, such as rental.running, or rental for all types of rentals',
} as const;

/** `rental` matches all types of rentals; `rental.running` one type. */
export const matchesTypes = (types: readonly string[], { type }: MillraceEvent): boolean =>
  types.length === 0 || types.some((wanted) => type === wanted || type.startsWith(`${wanted}.`));

export interface FeedHead {
  /** The `after` of the oldest event in the feed. */
  readonly beforeFirst: number;
  /** The `after` that skips all past events. */
  readonly last: number;
}

export async function readFeedHead(client: Millrace): Promise<FeedHead> {
  const { items, response } = await client.events.list({ limit: 1 });
  const first = items[0];
  return { beforeFirst: first === undefined ? response.lastSeq : first.seq - 1, last: response.lastSeq };
}

const pageSize = 200;
const MAX_LOOKBACK_EVENTS = 5_000;

/** The newest matching events, oldest first. Reads further back until it has enough. */
export async function latestEvents(
  client: Millrace,
  { types, limit }: { readonly types: readonly string[]; readonly limit: number },
): Promise<MillraceEvent[]> {
  const { beforeFirst, last } = await readFeedHead(client);
  for (let window = limit; ; window *= 5) {
    const after = Math.max(beforeFirst, last - Math.min(window, MAX_LOOKBACK_EVENTS));
    const events = await client.events.list({ after, limit: pageSize }).all({ max: MAX_LOOKBACK_EVENTS });
    const wanted = events.filter((event) => matchesTypes(types, event)).slice(-limit);
    if (wanted.length >= limit || after === beforeFirst || window >= MAX_LOOKBACK_EVENTS) return wanted;
  }
}

/** Following continues through outages of an hour. */
const reconnections = 1_000;

/** Passes every event after `after`, then future ones, to `onEvent` until Ctrl-C or until it returns `enough`. */
export async function followEvents(
  context: Context,
  after: number,
  onEvent: (event: MillraceEvent) => Promise<'go on' | 'enough'>,
): Promise<void> {
  const { signal } = context;
  const { events: feed } = context.client();
  try {
    // Report a wrong address or an expired position now, not after a thousand retries.
    await feed.list({ after, limit: 1 }, { signal });
    const events = feed.stream({ after }, { signal, maxRetries: reconnections });
    for await (const event of events) {
      if ((await onEvent(event)) === 'enough') return;
    }
  } catch (error) {
    if (!signal.aborted) throw error;
  }
}

const typeWidth = 22;

/** `1042  2026-11-14 09:30:00Z  rental.running  rental:17  by key key_…`; the actor is omitted if it does not fit. */
export function eventLine(event: MillraceEvent, { paint, isTty, columns }: Context['io']): string {
  const { seq, type, occurredAt, resource, actor } = event;
  const what = [
    String(seq).padStart(6),
    paint('dim', timestampText(occurredAt)),
    paint(toneOf(type), padTo(safeText(type), typeWidth)),
    safeText(`${resource.kind}:${resource.id}`),
  ].join('  ');
  const who = safeText(`by ${actor.kind} ${actor.id}`);
  const fits = !isTty || widthOf(what) + 2 + widthOf(who) <= columns;
  return fits ? `${what}  ${paint('dim', who)}` : what;
}

function toneOf(type: string): 'red' | 'green' | 'yellow' | 'cyan' {
  if (/failed|unknown|offline|quarantined|exceeded|floor/.test(type)) return 'red';
  if (/low|expiring|threshold|announced|inactive/.test(type)) return 'yellow';
  return /running|online|active|ready|topped_up/.test(type) ? 'green' : 'cyan';
}
