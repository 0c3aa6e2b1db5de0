import type { Millrace, MillraceEvent } from '../sdk.ts';
import type { Context } from '../framework/context.ts';
import { padTo, safeText, widthOf } from '../framework/text.ts';
import { timestampText } from '../text/timestamps.ts';

/** The feed of events: where it is now, its newest, and those to come. */

export const typeFlag = {
  type: 'list',
  value: 'TYPES',
  describe: 'only these types, such as rental.running, or rental for all of its kind',
} as const;

/** `rental` is every type of rentals; `rental.running` one of them. */
export const matchesTypes = (types: readonly string[], { type }: MillraceEvent): boolean =>
  types.length === 0 || types.some((wanted) => type === wanted || type.startsWith(`${wanted}.`));

export interface FeedHead {
  /** What to send as `after` to begin with the oldest that is still kept. */
  readonly beforeFirst: number;
  /** What to send as `after` to see only what is to come. */
  readonly last: number;
}

export async function readFeedHead(client: Millrace): Promise<FeedHead> {
  const { items, response } = await client.events.list({ limit: 1 });
  const first = items[0];
  return { beforeFirst: first === undefined ? response.lastSeq : first.seq - 1, last: response.lastSeq };
}

const pageSize = 200;
const MAX_LOOKBACK_EVENTS = 5_000;

/** The newest that are wanted, oldest first. Looks further and further back, for others may lie between. */
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

/** A feed is followed for as long as somebody wants it: a service that is away for an hour is waited for. */
const reconnections = 1_000;

/** Every event after `after`, then those to come, until Ctrl-C. `onEvent` says whether to go on. */
export async function followEvents(
  context: Context,
  after: number,
  onEvent: (event: MillraceEvent) => Promise<'go on' | 'enough'>,
): Promise<void> {
  const { signal } = context;
  const { events: feed } = context.client();
  try {
    // An address that is wrong, or a place that is lost, is told now and not after a thousand tries.
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

/** `1042  2026-11-14 09:30:00Z  rental.running  rental:17  by key key_…`; who did it is left off where it does not fit. */
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
